"""Pages that stand alone: the report on a run, and the demo's."""
