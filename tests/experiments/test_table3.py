from dataclasses import replace

import pytest

from scnf.evaluation.packed_images import unpack_images
from scnf.evaluation.records import read_record
from scnf.experiments import Options
from scnf.experiments.rendering import outdated
from scnf.experiments.table3 import STUDY, rows, run
from scnf.experiments.table3_render import PAPER, rendered, verdict
from scnf.recipes.images import image_features


def test_rows_differ_in_the_size_of_z_f_alone():
    recipes = STUDY.known_recipes(5.0)
    assert list(recipes) == list(PAPER)
    for name, recipe in recipes.items():
        assert image_features(recipe.model.f, (1, 28, 28)) == int(name)
        assert recipe.model.h == recipes["49"].model.h
        assert recipe.training == recipes["49"].training


def test_errors_and_reconstructions_are_recorded_and_shown(tmp_path, tiny_image_recipe, small_images, in_process):
    study = replace(STUDY, rows=(rows(tiny_image_recipe)[0], rows(tiny_image_recipe)[-1]))
    options = Options(splits=1, out=tmp_path, minutes=0.004, data_dir=small_images)
    summary = run(options, study)
    assert summary["failures"] == []
    assert [row["name"] for row in summary["rows"]] == ["49", "784"]
    record = read_record(tmp_path / "table3" / "784" / "mnist-0.json")
    assert 0 <= record["metrics"]["train_error"] <= 100
    images = unpack_images(record["images"])
    assert (unpack_images(record["reconstructions"]) == images).mean() > 0.99, "z_f is all there is"
    few = read_record(tmp_path / "table3" / "49" / "mnist-0.json")
    assert (unpack_images(few["reconstructions"]) == images).mean() < 0.5
    folder = tmp_path / "table3"
    assert {path.name for path in folder.iterdir()} == {"49", "784", "table.md", "table.json", "reconstructions.png"}
    assert f"{record['metrics']['error']:.2f} | 91.1 | " in (folder / "table.md").read_text(encoding="utf-8")

    text = rendered(folder, study.known_recipes(0.004))
    assert outdated(text, folder) == []
    page = folder / "table.md"
    page.write_text(page.read_text(encoding="utf-8").replace("91.1", "91.2"), encoding="utf-8")
    assert outdated(text, folder) == [page]


@pytest.mark.parametrize(
    ("errors", "words"),
    [
        ({"98": 2.0, "392": 60.0, "784": 90.0}, "The claim holds here"),
        ({"98": 2.0, "392": 6.0, "784": 90.0}, "holds in part"),
        ({"98": 2.0, "392": 6.0, "784": 9.0}, "does not hold"),
        ({"98": 2.0, "784": 90.0}, "Not all sizes"),
    ],
)
def test_the_verdict_is_about_the_large_sizes(errors, words):
    rows = [{"name": name, "error": {"mean": error}} for name, error in errors.items()]
    assert words in verdict({"rows": rows})
