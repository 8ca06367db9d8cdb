import json
from dataclasses import replace
from typing import Any

import pytest

from scnf.errors import UserError
from scnf.experiments import Options
from scnf.experiments import running as running_module
from scnf.experiments.rendering import outdated
from scnf.experiments.study import Row
from scnf.experiments.table1 import OURS, STUDY, run
from scnf.experiments.table1_render import aims_words, full_table, rendered, summarize


def study_of(*rows):
    return replace(STUDY, rows=rows)


def test_a_run_writes_records_table_and_figures_and_goes_on_where_it_was(tmp_path, tiny_recipe, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = study_of(Row(OURS, tiny_recipe("toy")))
    readme = tmp_path / "README.md"
    readme.write_text("<!-- table1:start -->\n<!-- table1:end -->\n", encoding="utf-8")
    options = Options(splits=1, jobs=1, out=tmp_path / "results")
    summary = run(options, study)

    folder = tmp_path / "results" / "table1"
    assert summary["failures"] == []
    assert {path.name for path in folder.iterdir()} == {
        OURS, "table.md", "table.json", "moons.png", "circles.png", "density.png"
    }  # fmt: skip
    record = json.loads((folder / OURS / "moons-0.json").read_text(encoding="utf-8"))
    assert record["experiment"] == "table1"
    assert record["data"] == {"name": "moons", "labels": 10, "seed": 0}
    assert record["machine"]["threads"] == 1
    assert set(record["metrics"]) == {"error", "nll", "ece"}
    assert {"seconds", "cpu_seconds", "parameters", "objectives", "seed"} <= set(record)
    assert json.loads((folder / "table.json").read_text(encoding="utf-8"))["rows"] == summary["rows"]
    assert summary["readme_updated"]
    text = rendered(folder, study.known_recipes())
    assert outdated(text, folder, readme.parent) == []
    readme.write_text(readme.read_text(encoding="utf-8").replace(" | 1 |", " | 2 |"), encoding="utf-8")
    assert outdated(text, folder, readme.parent) == [readme]
    assert [row[0] for row in summary["table"]["rows"]] == ["our recipe toy", "physical limit"]
    assert summary["table"]["columns"][1] == "parameters"
    assert [row[1] for row in summary["table"]["rows"]] == [f"{record['parameters']:,}", ""]

    monkeypatch.setattr(running_module, "run_tasks", lambda function, tasks, *_: iter(map(pytest.fail, tasks)))
    assert run(options, study)["rows"] == summary["rows"]


def test_the_table_shows_what_the_records_say(tmp_path, tiny_recipe):
    recipes = study_of(Row("glow-gmm", tiny_recipe("glow-gmm"))).known_recipes()
    for seed, error in enumerate([1.0, 2.0, 3.0]):
        record = {
            "recipe": recipes["glow-gmm"].model_dump(mode="json"),
            "data": {"name": "moons", "labels": 10, "seed": seed},
            "metrics": {"error": error, "nll": 1.1, "ece": 0.0},
            "seconds": 9.0,
            "cpu_seconds": 8.0,
            "parameters": 1234,
        }
        path = tmp_path / "glow-gmm" / f"moons-{seed}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(record), encoding="utf-8")
    page = full_table(summarize(tmp_path, recipes))
    assert "| Glow | GMM | 1,234 | 2.00 ± 1.00 | 1.2 ± 1.2 | 1.100 ± 0.000 | 1.15 ± 0.01 | – | 14.2 ± 9.0 |" in page
    assert "1 of the 2 cells of the paper that were run are matched" in page
    assert "; not Glow – GMM on moons, error, % (2.00 against 1.2)." in page
    assert "`toy` is not recorded yet." in page
    assert "| 0.06 | – | 1.008 | – | 0.02 | – | 0.808 | – |" in page


def test_every_aim_is_told():
    def cell(error: float, nll: float) -> dict[str, Any]:
        return {"seeds": 1, "error": {"mean": error}, "nll": {"mean": nll}}

    row = {"name": OURS, "cpu_seconds": 30.0, "moons": cell(0.2, 1.0511), "circles": cell(0.21, 0.86)}
    assert aims_words({"rows": [row]}) == (
        "Aims for `toy`, in brackets; reached: moons error, % 0.20 (≤ 0.2), circles NLL, nats 0.860 (≤ 0.86), "
        "core-seconds a fit 30.0 (≤ 30); missed: moons NLL, nats 1.051 (≤ 1.05), circles error, % 0.21 (≤ 0.2)."
    )


def test_a_run_into_another_folder_leaves_the_readme_alone(tmp_path, tiny_recipe, monkeypatch):
    monkeypatch.chdir(tmp_path)
    readme = tmp_path / "README.md"
    readme.write_text("<!-- table1:start -->\nkept\n<!-- table1:end -->\n", encoding="utf-8")
    run(Options(splits=1, jobs=1, out=tmp_path / "trial", data=["moons"]), study_of(Row("toy", tiny_recipe("toy"))))
    assert "kept" in readme.read_text(encoding="utf-8")


def test_rendering_without_any_record_of_the_recipes_is_refused(tmp_path, tiny_recipe):
    study = study_of(Row("toy", tiny_recipe("toy")))
    options = Options(splits=1, jobs=1, out=tmp_path / "trial", data=["moons"])
    with pytest.raises(UserError, match="holds no record of a present recipe"):
        run(replace(options, render_only=True), study)
    assert not options.out.exists()
    run(options, study)
    before = (options.out / "table1" / "table.md").read_text(encoding="utf-8")
    tiny_recipe("toy", steps=3)
    with pytest.raises(UserError, match="holds no record of a present recipe"):
        run(replace(options, render_only=True), study)
    assert (options.out / "table1" / "table.md").read_text(encoding="utf-8") == before
