"""People's own files and frames: tables, and how their rows become the float32 vectors that a flow learns from."""

from scnf.tables.encoder import Notes, TableEncoder
from scnf.tables.schema import TableSchema
from scnf.tables.table import Table
from scnf.tables.target import split_target

__all__ = ["Notes", "Table", "TableEncoder", "TableSchema", "split_target"]
