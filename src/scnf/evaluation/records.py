"""Run records: what was run, where, and what came out, as JSON."""

import json
import math
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel

from scnf.errors import UserError
from scnf.jsonfile import read_json
from scnf.wholefile import whole

_REMEDY = "; without it the run is made again"


def run_record(
    experiment: str, recipe: BaseModel, data: dict[str, Any], metrics: dict[str, float], seconds: float, **more: Any
) -> dict[str, Any]:
    """Return a record of one run of a recipe, or of what has a model and a training like one.

    ``data`` names the data set, the number of labels and the seed of the split.
    """
    return {
        "experiment": experiment,
        "recipe": recipe.model_dump(mode="json"),
        "data": data,
        "metrics": metrics,
        "seconds": seconds,
        "minutes": seconds / 60,
        "commit": current_commit(),
        "machine": machine(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **more,
    }


def machine() -> dict[str, Any]:
    """Return what a reader needs to know of the machine."""
    return {
        "cpu": _cpu_name() or platform.processor() or platform.machine(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _cpu_name() -> str | None:
    """Return the processor's name where Linux tells it: two of one kind may differ in speed by half."""
    told = Path("/proc/cpuinfo")
    lines = told.read_text(encoding="utf-8").splitlines() if told.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else None


def current_commit() -> str | None:
    """Return the commit of the code in use, with ``+`` where files were changed since; None outside a checkout."""
    folder = Path(__file__).parents[1]  # the package
    try:
        git = ["git", "-C", str(folder)]
        commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", str(folder)], capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "")


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a record, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole(path) as temporary:
        temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def read_record(path: Path) -> dict[str, Any]:
    """Return the record in a file; what ``run_record`` cannot have made is refused."""
    record = read_json(path, _REMEDY)
    for key in ("recipe", "data", "metrics"):
        if not isinstance(record.get(key), dict):
            raise UserError(f"{path} is damaged: it does not tell the run's {key}{_REMEDY}")
    if not isinstance(record["recipe"].get("training"), dict):
        raise UserError(f"{path} is damaged: its recipe tells no training{_REMEDY}")
    return record


def read_records(folder: Path) -> list[dict[str, Any]]:
    """Return all records below a folder, in the order of their file names."""
    return [read_record(path) for path in sorted(folder.rglob("*.json"))]


def finite(value: Any) -> Any:
    """Return a JSON value with None where a number is NaN or infinite, which JSON cannot say."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
