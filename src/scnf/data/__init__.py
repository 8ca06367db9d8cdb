"""Data sets, hidden labels and batches."""

from scnf.data.labels import UNLABELED, hide_labels
from scnf.data.sources import SOURCES, Split, fetch, find_source, load, locate

__all__ = ["SOURCES", "UNLABELED", "Split", "fetch", "find_source", "hide_labels", "load", "locate"]
