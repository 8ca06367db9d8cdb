"""JSON files that we wrote ourselves."""

import json
from pathlib import Path
from typing import Any

from scnf.errors import UserError


def read_json(path: Path, remedy: str = "") -> dict[str, Any]:
    """Return the JSON object in a file; where there is none, ``remedy`` ends the sentence that says so."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UserError(f"{path} is damaged: {error}{remedy}") from error
    if not isinstance(values, dict):
        raise UserError(f"{path} is damaged: it holds no JSON object{remedy}")
    return values
