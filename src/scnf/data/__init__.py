"""Data sets, hidden labels and batches."""

from scnf.data.labels import UNLABELED, hide_labels
from scnf.data.sources import SOURCES, Split, load

__all__ = ["SOURCES", "UNLABELED", "Split", "hide_labels", "load"]
