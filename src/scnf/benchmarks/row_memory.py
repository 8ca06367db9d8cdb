"""Peak memory of ``scnf predict`` for files of more and more rows: it should not grow with them."""

import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from scnf.benchmarks.memory import peak_of_command
from scnf.errors import UserError
from scnf.estimator import SCNFClassifier
from scnf.evaluation.records import current_commit, machine, write_record
from scnf.tables import Table
from scnf.tables.writing import TableWriter

ROWS = (100_000, 1_000_000, 10_000_000)
_ROWS_AT_A_TIME = 100_000


def run(out: Path | None, rows: Iterable[int] = ROWS, say: Callable[[str], None] = lambda text: None) -> dict[str, Any]:
    """Predict .csv files of so many rows, write the record to a folder if one is given, and return it."""
    if wrong := [count for count in rows if count < 1]:
        raise UserError(f"a file to predict has at least 1 row, got {wrong[0]}")
    measured = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _fit(folder / "model.safetensors")
        for count in rows:
            measured.append(_predict(folder, count))
            say(f"{count:,} rows: a peak of {measured[-1]['peak_mib']:.0f} MiB")
    record = {"predict": measured, "machine": machine(), "commit": current_commit()}
    if out is not None:
        write_record(out / "rows.json", record)
    return record


def _fit(path: Path) -> None:
    x, y = make_blobs(300, n_features=4, centers=3, random_state=0)
    SCNFClassifier(settings={"training.steps": 20}, calibrate=False, random_state=0).fit(x, y).save(path)


def _predict(folder: Path, rows: int) -> dict[str, Any]:
    source, predictions = folder / "rows.csv", folder / "predictions.parquet"
    size = _write(source, rows)
    started = time.perf_counter()
    model = str(folder / "model.safetensors")
    peak = peak_of_command("predict", model, str(source), "--out", str(predictions), "--json", "--threads", "1")
    seconds = time.perf_counter() - started
    source.unlink()
    predictions.unlink()
    return {"rows": rows, "file_mib": size / 2**20, "peak_mib": peak, "seconds": seconds}


def _write(path: Path, rows: int) -> int:
    """Write rows like those of training and return the size of the file; blocks repeat, which no reader knows."""
    x, _ = make_blobs(min(rows, _ROWS_AT_A_TIME), n_features=4, centers=3, random_state=0)
    block = Table.of(np.round(x, 3))
    with TableWriter(path) as writer:
        for start in range(0, rows, len(block)):
            writer.write(block[: rows - start])
    return path.stat().st_size
