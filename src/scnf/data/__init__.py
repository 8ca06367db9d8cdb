"""Data sets, hidden labels and batches."""

from scnf.data.labels import UNLABELED, hide_labels
from scnf.data.sources import SOURCES, Split, find_source, load

__all__ = ["SOURCES", "UNLABELED", "Split", "find_source", "hide_labels", "load"]
