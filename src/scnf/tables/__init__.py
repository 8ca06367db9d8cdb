"""People's own files and frames: tables, and how their rows become the float32 vectors that a flow learns from.

``tables.writing`` (``TableWriter``) and ``tables.images`` (``read_image_folder``) are imported by name: they load
pyarrow and Pillow, which arrays do not need.
"""

from scnf.tables.encoder import Notes, TableEncoder
from scnf.tables.reading import TableFile, open_table
from scnf.tables.schema import TableSchema
from scnf.tables.table import Table
from scnf.tables.target import split_target

__all__ = ["Notes", "Table", "TableEncoder", "TableFile", "TableSchema", "open_table", "split_target"]
