from dataclasses import replace

from scnf.evaluation.records import read_record
from scnf.experiments import Options
from scnf.experiments.ablation import STUDY, WITHOUT, rows, run
from scnf.experiments.ablation_render import TITLES, verdict
from scnf.recipes import load_recipe


def test_every_row_lacks_something_of_the_recipe():
    recipes = STUDY.known_recipes(5.0)
    assert list(recipes) == list(WITHOUT) == list(TITLES)
    whole = load_recipe("mnist", {"training.max_minutes": 5.0})
    same = [name for name, r in recipes.items() if (r.model, r.training) == (whole.model, whole.training)]
    assert same == ["mnist"]


def test_a_row_is_recorded_and_shown(tmp_path, tiny_image_recipe, small_images, in_process):
    study = replace(STUDY, rows=rows(tiny_image_recipe)[:1])
    summary = run(Options(splits=1, out=tmp_path, minutes=0.004, data_dir=small_images), study)
    assert summary["failures"] == []
    record = read_record(tmp_path / "ablation" / "mnist" / "mnist-0.json")
    page = (tmp_path / "ablation" / "table.md").read_text("utf-8")
    assert f"| `mnist` as it is | {record['metrics']['error']:.2f} |" in page
    assert "not both recorded yet" in summary["verdicts"][0]


def test_the_verdict_names_what_matters_most():
    def row(name, error, bits):
        return {"name": name, "error": {"mean": error}, "bits_per_dim": {"mean": bits}}

    line = verdict({"rows": [row("mnist", 4.0, 1.2), row("no-graph", 20.0, 1.21), row("adam", 5.0, 1.4)]})
    assert "error** changes most with “no graph" in line
    assert "from 4.00 to 20.00" in line
    assert "“Adam for all, no Muon”, from 1.200 to 1.400" in line
