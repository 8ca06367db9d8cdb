import html
import io
import json
import re

import pytest
from rich.console import Console

from scnf.baselines.sklearn import BASELINES
from scnf.errors import UserError
from scnf.experiments import demo
from scnf.experiments.demo import DemoTask, Part, result_rows, result_table, run_part
from scnf.recipes import load_recipe
from scnf.reporting.demo import write_report
from tests.helpers import tiny_digits_recipe


@pytest.fixture(scope="module")
def fitted_demo(tmp_path_factory):
    """Return the folder of a demo of a few steps, and its records."""
    folder = tmp_path_factory.mktemp("demo")
    toy = load_recipe("toy", {"training.steps": 2, "training.n_init": 1})
    tasks = [
        DemoTask("moons", 10, toy, 0, folder),
        DemoTask("digits", 100, load_recipe(tiny_digits_recipe(folder)), 0, folder),
    ]
    return folder, [run_part(task, lambda share: None) for task in tasks]


def test_a_part_leaves_a_model_and_a_record_with_the_baselines(fitted_demo):
    folder, records = fitted_demo
    assert json.loads((folder / "moons.json").read_text(encoding="utf-8")) == json.loads(json.dumps(records[0]))
    assert (folder / "digits.safetensors").is_file()
    names = [baseline["name"] for baseline in records[0]["baselines"]]
    assert names == list(BASELINES)


def test_the_report_stands_alone_and_fits_light_and_dark_pages(fitted_demo):
    folder, records = fitted_demo
    page = write_report(folder, records).read_text(encoding="utf-8")
    sources = re.findall(r'(?:src|srcset)="([^"]{0,40})', page)
    assert sources
    assert all(source.startswith("data:image/png;base64,") for source in sources)
    assert "<script" not in page
    assert f'scnf.load("{folder}/moons.safetensors")' in html.unescape(page)
    assert "://" not in page
    assert page.count("prefers-color-scheme: dark") == 1 + len(sources) // 2
    for title in ("Decision boundary", "Density", "Samples of the model", "Real images", "Mistakes", "Training"):
        assert title in page
    for baseline in records[1]["baselines"]:
        assert f"{baseline['error']:.2f} %" in page


def test_the_terminal_shows_every_method_for_every_data_set(fitted_demo):
    results = [result_rows(record) for record in fitted_demo[1]]
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(result_table(results))
    text = console.export_text()
    assert text.count("SCNF") == 2
    assert text.count("SelfTraining, SVC") == 2
    assert "digits, 100 labels" in text


def test_the_demo_runs_in_workers_and_replaces_an_earlier_one(tmp_path):
    out = tmp_path / "demo"
    out.mkdir()
    (out / "report.html").write_text("old", encoding="utf-8")
    (out / "moons.json").write_text('{"experiment": "demo"}', encoding="utf-8")
    results = demo.run(out, seed=1, parts=[Part("digits", 100, str(tiny_digits_recipe(tmp_path)))], jobs=1)
    assert set(results["results"]) == {"digits"}
    assert results["results"]["digits"]["methods"][0]["name"] == "SCNF"
    assert "Real images" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "text"), [("moons.json", "{}"), ("moons.json", "mine"), ("report.html", "mine")])
def test_a_folder_with_other_things_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match="holds other things than an earlier demo"):
        demo.run(tmp_path)
    with pytest.raises(UserError, match="is a file"):
        demo.run(tmp_path / name)
    assert [(path.name, path.read_text(encoding="utf-8")) for path in tmp_path.iterdir()] == [(name, text)]
