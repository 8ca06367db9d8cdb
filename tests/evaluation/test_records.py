import json

import pytest

from scnf.errors import UserError
from scnf.evaluation import records
from scnf.evaluation.records import read_records, run_record, write_record
from scnf.recipes import Recipe
from tests.helpers import small_recipe


def record(**more):
    return run_record("table", small_recipe(), {"name": "moons", "seed": 0}, {"error": 1.5}, seconds=90.0, **more)


def test_record_says_what_was_run_and_what_came_out():
    made = record(restart=2)
    assert Recipe.model_validate(made["recipe"]) == small_recipe()
    assert made["minutes"] == 1.5
    assert made["metrics"] == {"error": 1.5}
    assert made["restart"] == 2
    assert made["machine"]["torch"]


def test_records_are_read_back_in_order(tmp_path):
    for name in ("b", "a", "c/d"):
        write_record(tmp_path / f"{name}.json", record(name=name))
    assert [found["name"] for found in read_records(tmp_path)] == ["a", "b", "c/d"]
    assert read_records(tmp_path)[0] == json.loads(json.dumps(record(name="a"))) | {
        "date": read_records(tmp_path)[0]["date"]
    }


def test_a_failed_write_leaves_the_old_record(tmp_path):
    path = tmp_path / "run.json"
    write_record(path, record(n=1))
    with pytest.raises(TypeError):
        write_record(path, record(n=object()))
    assert [found["n"] for found in read_records(tmp_path)] == [1]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("{", "damaged: Expecting property name"),
        ("\xff", "damaged: 'utf-8' codec"),
        ("[]", "damaged: it holds no JSON object"),
        ("{}", "damaged: it does not tell the run's recipe"),
        ('{"recipe": {}, "data": {}, "metrics": 3}', "damaged: it does not tell the run's metrics"),
        ('{"recipe": {}, "data": {}, "metrics": {}}', "damaged: its recipe tells no training"),
    ],
)
def test_a_damaged_record_is_named(tmp_path, text, named):
    (tmp_path / "run.json").write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=rf"run\.json is {named}.*; without it the run is made again$"):
        read_records(tmp_path)


def test_without_git_the_commit_is_unknown(monkeypatch):
    def missing(*args, **kwargs):
        raise FileNotFoundError("git")

    monkeypatch.setattr(records.subprocess, "run", missing)
    assert record()["commit"] is None
