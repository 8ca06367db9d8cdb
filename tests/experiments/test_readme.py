"""What the pages say is what the records say."""

from pathlib import Path

from scnf.experiments.everything import all_outdated

ROOT = Path(__file__).parents[2]


def test_all_pages_are_made_from_the_records():
    assert all_outdated(ROOT) == []
