"""The page about speed says what the record says, and what it shows is told in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from scnf.benchmarks.speed_page import BLOCK, DOCS, RESULTS, findings, page, write_pages
from scnf.evaluation.tables import block_is_current

ROOT = Path(__file__).parents[2]
MOST_OF_A_STEP = 3.0  # %, that making a batch may take


@pytest.fixture
def kept() -> dict[str, Any]:
    """The record of the repository."""
    return json.loads((ROOT / RESULTS / "speed.json").read_text("utf-8"))


def test_page_and_docs_say_what_the_record_says(kept):
    # write_pages(RESULTS, record) mends them.
    assert (ROOT / RESULTS / "speed.md").read_text("utf-8") == page(kept)
    assert block_is_current(ROOT / DOCS, BLOCK, findings(kept))


def test_the_record_is_no_quick_one_and_has_the_peer(kept):
    assert not kept["quick"]
    assert all(entry["peers"] for entry in kept["speed"])


def test_making_a_batch_takes_hardly_any_of_a_step(kept):
    assert {entry["recipe"] for entry in kept["speed"]} == {"paper-mnist", "mnist"}
    assert all(entry["loader_percent_of_step"] < MOST_OF_A_STEP for entry in kept["speed"])


def test_making_a_batch_with_altered_copies_takes_hardly_more(kept):
    assert kept["rows"] == 60_000
    assert kept["copies"]["loader_percent_of_step"] < MOST_OF_A_STEP


@pytest.mark.parametrize(
    ("percent", "compiled", "word"),
    [(84.9, None, "missed"), (85.0, None, "reached"), (80.0, 84.9, "missed"), (80.0, 85.0, "reached")],
)
def test_the_aim_is_told_with_whether_it_is_reached(kept, percent, compiled, word):
    kept["speed"][0] |= {"train_percent_of_roofline": percent, "compiled_percent_of_roofline": compiled}
    assert f"**The aim is {word}**" in page(kept)
    told = (
        f"{percent:.1f} %." if compiled is None else f"{percent:.1f} %, and {compiled:.1f} % with `training.compile`."
    )
    assert f"at least 85 % of the roofline, and has {told}" in findings(kept)
    kept["speed"].pop(0)
    assert "The aim" not in page(kept)


def test_a_peer_that_does_other_work_is_not_compared_by_images(kept):
    ours, theirs = kept["speed"][0], kept["speed"][0]["peers"][0]
    ours["convolution_mmacs"], theirs["convolution_mmacs"] = 1234.5, 6.7
    assert "by its share of the roofline, not by images a second" in page(kept)
    assert "6.70 beside the 1,234.5 of `paper-mnist`" in page(kept)
    for entry in kept["speed"]:
        entry["peers"] = []
    assert "normflows" not in page(kept)


def test_two_processes_stand_beside_the_one_they_are_measured_against(kept):
    for entry, ratio in zip(kept["speed"], (0.9, 1.04), strict=True):
        entry |= {"one_process_images_per_second": 111.1, "two_processes_over_one": ratio}
    assert "`--devices 2` brings nothing on this machine" in page(kept)
    assert "0.90 (`paper-mnist`) and 1.04 (`mnist`) of the speed of one process with 2 threads" in page(kept)
    assert "| fit of one process, images/s | fit of two processes, images/s | two over one |" in page(kept)
    assert page(kept).count("| 111.1 |") == 2
    kept["speed"][1]["two_processes_over_one"] = 1.6
    assert "`--devices 2` helps `mnist` on this machine" in page(kept)


def test_what_batches_are_made_of_is_told(kept):
    kept |= {"rows": 60_000, "copies": {"recipe": "a", "loader_percent_of_step": 1.25}}
    assert "made of 60,000 images. With the altered copies of `a` making one takes 1.25 % of a step" in page(kept)


def test_the_docs_follow_the_results_of_the_repository_alone(kept, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in (RESULTS, DOCS.parent, Path("trial")):
        folder.mkdir(parents=True)
    DOCS.write_text(empty := f"<!-- {BLOCK}:start -->\n<!-- {BLOCK}:end -->\n")
    write_pages(Path("trial"), kept)
    assert DOCS.read_text() == empty
    write_pages(RESULTS, kept)
    assert block_is_current(DOCS, BLOCK, findings(kept))
    assert {path.name for path in RESULTS.iterdir()} == {"speed.md", "labels-mnist.png", "labels-paper-mnist.png"}
