"""``scnf bench rows``."""

import json
from pathlib import Path

from tests.cli.conftest import invoke, refusal


def test_predictions_are_measured_for_each_number_of_rows(folder: Path):
    text = invoke("bench", "rows", "--rows", "10", "--rows", "30", "--out", "there").stdout
    record = json.loads((folder / "there" / "rows.json").read_text())
    assert [one["rows"] for one in record["predict"]] == [10, 30]
    for one in record["predict"]:
        assert one["peak_mib"] > 20  # what Python with numpy takes at the least
        assert f"{one['peak_mib']:.1f}" in text
    assert 2.5 < record["predict"][1]["file_mib"] / record["predict"][0]["file_mib"] < 3.5


def test_a_file_without_rows_is_refused():
    assert "at least 1 row, got 0" in refusal("bench", "rows", "--rows", "0")
