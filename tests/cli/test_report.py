import csv
import html
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from scnf.modelfile import MODEL_FILE
from scnf.reporting import judging, latent_sections, pictures
from scnf.reporting.opening import Places, open_material
from scnf.runs import METRICS_FILE, SPLIT_FILE
from tests.cli.conftest import invoke, invoke_json, refusal

SECTIONS = {
    "data": "The data",
    "training": "Training",
    "error": "Error and calibration",
    "confusion": "Confusion matrix",
    "uncertain": "The most uncertain rows",
    "unusual": "The most unusual rows",
    "label-next": "What to label next",
    "samples": "What the model draws",
    "latents": "The latent map",
    "label-cost": "What the label cost",
    "repeat": "The recipe, and how to repeat the run",
}


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    """Draw coarsely and look at few rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "_DPI", 20)
        patch.setattr(latent_sections, "_MOST_POINTS", 60)
        patch.setattr(judging, "_MOST_ROWS", 150)
        patch.setattr(judging, "_FEWEST_ROWS", 50)
        yield


def report(out: Path, *arguments: object) -> dict[str, str]:
    """Write a report and return its sections by name, and the whole page under the name page."""
    told = invoke_json("report", *arguments, "--threads", 1, "--out", out)
    page = html.unescape(out.read_text(encoding="utf-8"))
    assert told["bytes"] == out.stat().st_size
    found = re.findall(r'<section class="card" id="([^"]+)">(.*?)</section>', page, re.DOTALL)
    assert [key for key, _ in found] == list(SECTIONS)
    return {**dict(found), "page": page, "told": json.dumps(told)}


@pytest.fixture(scope="module")
def fruit_report(fruit_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return report(tmp_path_factory.mktemp("report") / "fruit.html", fruit_run)


@pytest.fixture(scope="module")
def image_report(image_run: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return report(tmp_path_factory.mktemp("report") / "images.html", image_run)


def test_every_section_is_there_with_its_title(fruit_report: dict[str, str]):
    for key, title in SECTIONS.items():
        assert f"<h2>{title}</h2>" in fruit_report[key]


def test_the_page_stands_alone_in_light_and_dark(fruit_report: dict[str, str], image_report: dict[str, str]):
    for page in (fruit_report["page"], image_report["page"]):
        sources = re.findall(r'(?:src|srcset|href)="([^"]{0,40})', page)
        assert all(source.startswith(("data:image/png;base64,", "#")) for source in sources)
        assert "://" not in page
        assert "<script" not in page
        assert page.count("<source srcset=") == page.count('media="(prefers-color-scheme: dark)"') > 2
        assert "@media print" in page


def test_numbers_are_those_of_the_run(fruit_report: dict[str, str], fruit_run: Path):
    told = json.loads(fruit_report["told"])
    metrics = json.loads((fruit_run / METRICS_FILE).read_text(encoding="utf-8"))
    assert told["error"] == pytest.approx(metrics["error"])
    assert (told["rows"], told["labels"], told["test_rows"]) == (90, metrics["labels"], metrics["test_rows"])
    assert f"{metrics['error']:.2f} %" in fruit_report["error"]
    assert f"{100 * metrics['ece']:.2f} % with the temperature" in fruit_report["error"]
    assert f"{100 * metrics['ece_uncalibrated']:.2f} % without" in fruit_report["error"]


def test_rows_are_named_as_in_the_file(fruit_report: dict[str, str], fruit_run: Path):
    with (fruit_run.parent / "fruit.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in fruit_report["label-next"].split("<tr>")[2:]]
    columns = [name.strip() for name in re.findall(r"<th[^>]*>(.*?)</th>", fruit_report["label-next"])]
    assert len(lines) == 12
    for line in lines:
        row = rows[int(line[0].removeprefix("row ")) - 1]
        assert row["label"] == ""
        assert float(row["size"]) == pytest.approx(float(line[columns.index("size")]), rel=1e-3)
    gains = [float(line[1]) for line in lines]
    assert gains == sorted(gains, reverse=True)


def test_images_are_shown_with_their_files(image_report: dict[str, str]):
    for key in ("uncertain", "label-next"):
        assert image_report[key].count('<img class="pixels"') == 12
        assert len(set(re.findall(r"unlabeled/\d+\.png</span>", image_report[key]))) == 12
    assert re.findall(r"<span>(.*?)</span>", image_report["samples"]) == [
        "dark: samples", "dark: real", "light: samples", "light: real"
    ]  # fmt: skip


def test_without_test_rows_the_page_says_so(image_report: dict[str, str]):
    for key in ("error", "confusion"):
        assert "The run kept no rows for a test" in image_report[key]
    assert "24 rows with a label, of the training rows" in image_report["label-cost"]
    assert json.loads(image_report["told"])["error"] is None


def test_a_run_on_a_named_data_set_and_an_excerpt_of_it(folder: Path, digits_run: Path):
    found = report(folder / "r.html", digits_run)
    assert "Looked at are 150 of the 599 test rows" in found["error"]
    assert json.loads(found["told"])["rows_looked_at"] == 300
    metrics = json.loads((digits_run / METRICS_FILE).read_text(encoding="utf-8"))
    assert json.loads(found["told"])["error"] == pytest.approx(metrics["error"])
    assert "scnf fit --data digits --labels 100 --seed 0" in found["repeat"]


def test_other_test_rows_have_their_own_numbers(folder: Path, fruit_run: Path):
    header, *rows = (fruit_run.parent / "fruit.csv").read_text().splitlines()
    swapped = {"apple": "pear", "pear": "apple"}
    named = [row.rsplit(",", 1) for row in rows if row.rsplit(",", 1)[1] in swapped]
    # More rows than a report looks at, all of them called wrongly.
    wrong = [f"{values},{swapped[label]}" for values, label in named] * 10
    (folder / "wrong.csv").write_text("\n".join([header, *wrong]) + "\n")
    measured = invoke_json("evaluate", fruit_run, "wrong.csv")
    found = report(folder / "r.html", fruit_run, "--test", "wrong.csv")
    assert measured["error"] > 50
    assert json.loads(found["told"])["error"] == pytest.approx(measured["error"], abs=5)
    assert "on all test rows" not in found["error"]
    nll = re.search(r"p\(x\) of test rows</dt>\s*<dd>(-?[\d.]+) nats", found["error"])
    assert nll is not None
    assert float(nll[1]) == pytest.approx(measured["nll"], abs=0.3)


def test_data_that_are_gone_are_missed_and_may_be_named(folder: Path, fruit_run: Path):
    shutil.copytree(fruit_run, folder / "run")
    split = folder / "run" / SPLIT_FILE
    split.write_text(split.read_text().replace("fruit.csv", "gone.csv"))
    found = report(folder / "a.html", "run")
    for key in ("data", "error", "uncertain", "unusual", "label-next", "latents", "label-cost"):
        assert "gone.csv, which the run was started with, is not there any more" in found[key]
        assert "--data FILE" in found[key]
    assert "drawn for" in found["samples"]
    assert "scnf fit" in found["repeat"]
    material = open_material(Path("run"), Places(data=fruit_run.parent / "fruit.csv"))
    assert material.train is not None
    assert len(material.train) == 90
    assert material.test is not None
    (folder / "other.csv").write_text("size,label\n1,apple\n")
    assert "other.csv is not the same" in refusal("report", "run", "--data", "other.csv", "--out", "c.html")


def test_a_bare_model_tells_what_it_can(folder: Path, fruit_run: Path):
    shutil.copy(fruit_run / MODEL_FILE, "m.safetensors")
    found = report(folder / "a.html", "m.safetensors")
    assert "does not tell where its training rows are (--data FILE names them)" in found["data"]
    assert "There are no training curves" in found["training"]
    assert "which is not here" in found["repeat"]
    rows = fruit_run.parent / "fruit.csv"
    found = report(folder / "b.html", "m.safetensors", "--data", rows, "--test", rows)
    assert "120, 30 of them with a label" in found["data"]
    assert "of 30 rows with a label" in found["error"]
    assert found["label-next"].count("<tr>") == 13


@pytest.mark.usefixtures("shelf", "small_images_found")
def test_a_shipped_model_needs_its_name_alone(tmp_path: Path):
    found = report(tmp_path / "r.html", "tiny-100")
    assert "Confusion matrix" in found["confusion"]
    assert "There are no training curves" in found["training"]


def test_what_is_asked_wrongly_is_refused_and_nothing_written(folder: Path, fruit_run: Path, image_run: Path):
    (folder / "mine.html").write_text("mine")
    assert "mine.html exists already" in refusal("report", fruit_run, "--out", "mine.html")
    assert (folder / "mine.html").read_text() == "mine"
    assert "--out must end in .html" in refusal("report", fruit_run, "--out", "r.pdf")
    assert "folder nowhere of --out does not exist" in refusal("report", fruit_run, "--out", "nowhere/r.html")
    assert "no-such does not exist" in refusal("report", "no-such", "--out", "r.html")
    assert "no.csv does not exist" in refusal("report", fruit_run, "--test", "no.csv", "--out", "r.html")
    assert "no.csv does not exist" in refusal("report", fruit_run, "--data", "no.csv", "--out", "r.html")
    (folder / "run").mkdir()
    shutil.copy(fruit_run / "recipe.toml", folder / "run")
    assert "--resume` goes on with it" in refusal("report", "run", "--out", "r.html")
    shutil.copy(image_run / MODEL_FILE, "m.safetensors")
    assert "which column of t.csv holds the labels" in refusal(
        "report", "m.safetensors", "--data", _file(folder / "t.csv"), "--out", "r.html"
    )
    assert not (folder / "r.html").exists()


def _file(path: Path) -> str:
    path.write_text("a,b\n1,2\n")
    return path.name


def test_stages_are_told(folder: Path, fruit_run: Path):
    shutil.copy(fruit_run / MODEL_FILE, "m.safetensors")
    result = invoke("report", "m.safetensors", "--out", "r.html", "--threads", 1)
    assert result.exit_code == 0
    assert "The report is in r.html" in result.stdout
    assert "drawing the latent map" in result.stderr
