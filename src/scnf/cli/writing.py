"""Files that commands write: whole or not at all, never over another one."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from scnf.errors import UserError
from scnf.wholefile import whole

if TYPE_CHECKING:
    import numpy as np

    from scnf.tables import Table

TABLES = (".csv", ".tsv", ".parquet", ".feather")


def check_output(path: Path, endings: Collection[str]) -> None:
    """Refuse an output that is there already, that has no folder to be in, or whose kind is unknown."""
    # First: a folder of images has no ending, and that is right for a command that writes one.
    if path.exists() or path.is_symlink():
        raise UserError(f"{path} exists already; choose another --out")
    if path.suffix.lower() not in endings:
        *most, last = endings
        right = f"{', '.join(most)} or {last}" if most else last
        raise UserError(f"--out must end in {right}, got {path}")
    if not path.parent.is_dir():
        raise UserError(f"the folder {path.parent} of --out does not exist")


def write_tables(path: Path, tables: "Iterable[Table]") -> None:
    """Write tables below one another."""
    from scnf.tables.writing import TableWriter

    with TableWriter(path) as writer:
        for table in tables:
            writer.write(table)


def write_arrays(
    path: Path, batches: "Iterable[Mapping[str, np.ndarray]]", more: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Write named arrays, each batch's below the last one's, and lists beside them to an .npz file."""
    import numpy as np

    parts = list(batches)
    arrays = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    arrays |= {name: np.array(values) for name, values in (more or {}).items()}
    with whole(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, **arrays)
