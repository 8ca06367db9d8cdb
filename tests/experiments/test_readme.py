"""What the README says is what the records say."""

from pathlib import Path

from scnf.experiments.table1_render import readme_is_current

ROOT = Path(__file__).parents[2]


def test_the_table_in_the_readme_is_made_from_the_records():
    assert readme_is_current(ROOT / "README.md", ROOT / "results" / "table1")
