from dataclasses import replace

import pytest

from scnf.evaluation.packed_images import unpack_images
from scnf.evaluation.records import read_record
from scnf.experiments import Options
from scnf.experiments.rendering import outdated
from scnf.experiments.table3 import STUDY, rows, run
from scnf.experiments.table3_render import PAPER, page, rendered, verdict
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
    assert summary["rows"][-1]["cpu_seconds"] == record["cpu_seconds"]
    images = unpack_images(record["images"])
    assert (unpack_images(record["reconstructions"]) == images).mean() > 0.99, "z_f is all there is"
    few = read_record(tmp_path / "table3" / "49" / "mnist-0.json")
    assert (unpack_images(few["reconstructions"]) == images).mean() < 0.5
    folder = tmp_path / "table3"
    assert {path.name for path in folder.iterdir()} == {"49", "784", "table.md", "table.json", "reconstructions.png"}
    assert f"{record['metrics']['error']:.2f} | 91.1 | " in (folder / "table.md").read_text(encoding="utf-8")

    text = rendered(folder, study.known_recipes(0.004))
    assert outdated(text, folder) == []
    path = folder / "table.md"
    path.write_text(path.read_text(encoding="utf-8").replace("91.1", "91.2"), encoding="utf-8")
    assert outdated(text, folder) == [path]


def row(name, test, train):
    means = {"error": test, "train_error": train, "bits_per_dim": 1.2}
    return {
        "name": name,
        "paper": PAPER.get(name),
        "splits": 1,
        "parameters": 1234,
        "steps": 300.0,
        "cpu_seconds": 101.4,
        **{metric: {"mean": mean, "values": [mean]} for metric, mean in means.items()},
    }


SMALL = {"49": (10.0, 9.0), "98": (2.0, 0.0), "196": (2.0, 0.0)}
COLLAPSED, STANDS, UNTOLD = (50.1, 4.9), (50.0, 4.9), (90.0, 5.0)


@pytest.mark.parametrize(
    ("large", "small", "words"),
    [
        ((COLLAPSED, COLLAPSED), {}, ("claim holds in 2 minutes a fit", "at most 10.0 %: they serve")),
        ((COLLAPSED, COLLAPSED), {"49": (10.1, 0.0)}, ("holds in part", "at most 10.1 %: they do not all serve")),
        (
            (STANDS, COLLAPSED),
            {},
            ("holds in part", "392 components 50.0 % (4.9 %), none;", "50.1 % (4.9 %), a collapse."),
        ),
        ((UNTOLD, COLLAPSED), {}, ("holds in part", "392 components 90.0 % (5.0 %), too little time to tell;")),
        ((STANDS, STANDS), {}, ("does not hold in 2 minutes a fit", "784 components 50.0 % (4.9 %), none.")),
        ((STANDS, UNTOLD), {}, ("does not hold", "784 components 90.0 % (5.0 %), too little time to tell.")),
        ((UNTOLD, UNTOLD), {}, ("cannot be judged in 2 minutes a fit", "(5.0 %), too little time to tell;")),
    ],
)
def test_a_collapse_is_of_a_model_that_has_learned_its_labelled_images(large, small, words):
    errors = {**SMALL, **small, **dict(zip(("392", "784"), large, strict=True))}
    line = verdict({"minutes": 2.0, "rows": [row(name, *of_row) for name, of_row in errors.items()]})
    assert all(word in line for word in words), line


@pytest.mark.parametrize("missing", list(PAPER))
def test_the_verdict_needs_every_size(missing):
    rows = [row(name, *COLLAPSED) for name in PAPER if name != missing]
    assert "Not all sizes" in verdict({"minutes": 2.0, "rows": rows})


def test_without_a_limit_no_minutes_are_told():
    text = page({"minutes": None, "rows": [row(name, *COLLAPSED) for name in PAPER]})
    assert "holds in part here" in text
    assert "minutes" not in text


def test_the_page_shows_what_the_rows_got_of_the_core():
    text = page({"minutes": 2.0, "rows": [row("49", 5.0, 0.0)]})
    assert "| parameters | steps | CPU seconds |" in text
    assert "| 1,234 | 300 | 101 |" in text
