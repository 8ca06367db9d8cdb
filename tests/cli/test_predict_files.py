"""``scnf predict`` with models of people's own files."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import scnf
from scnf.benchmarks.memory import peak_of_command
from tests.cli.conftest import fit_file_options, invoke, invoke_json, refusal
from tests.cli.own_files import fruit_rows, write_csv, write_images

FEATURES = ("size", "weight", "count", "color")
OWN = ["label", "probability_apple", "probability_melon", "log_density", "outlier"]


@pytest.fixture
def new(folder: Path) -> list[dict[str, str]]:
    """New rows, also in ``new.csv``."""
    rows = fruit_rows(50, seed=3)
    write_csv(folder / "new.csv", rows)
    return rows


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "p.parquet", "p.feather"])
def test_predictions_are_those_of_the_estimator(folder: Path, new: list[dict[str, str]], fruit_run: Path, name: str):
    told = invoke_json("predict", fruit_run, "new.csv", "--out", name, "--id", "id")
    frame = {
        "p.csv": lambda: pd.read_csv(name),
        "p.tsv": lambda: pd.read_csv(name, sep="\t"),
        "p.parquet": lambda: pd.read_parquet(name),
        "p.feather": lambda: pd.read_feather(name),
    }[name]()
    assert list(frame) == ["id", *OWN]
    assert frame["id"].tolist() == [row["id"] for row in new]
    estimator = scnf.SCNFClassifier.load(fruit_run)
    rows = pd.read_csv("new.csv")[list(FEATURES)]
    assert frame["label"].tolist() == estimator.predict(rows).tolist()
    np.testing.assert_allclose(frame[OWN[1:3]], estimator.predict_proba(rows), atol=1e-6)
    np.testing.assert_allclose(frame["log_density"], estimator.score_samples(rows), rtol=1e-6)
    assert told["labels"] == {name: int((frame["label"] == name).sum()) for name in ("apple", "melon")}
    assert (told["rows"], told["outliers"]) == (50, int(frame["outlier"].sum()))
    assert told["notes"] == []


def test_outliers_lie_below_the_quantile_of_the_training_rows(folder: Path, fruit_run: Path):
    rows = fruit_rows()
    write_csv(folder / "train.csv", rows)
    for share in (0.1, 0.5):
        told = invoke_json("predict", fruit_run, "train.csv", "--out", f"{share}.csv", "--outliers", share)
        frame = pd.read_csv(f"{share}.csv")
        lowest = scnf.load(fruit_run).outlier_density(share)
        assert (frame["outlier"] == (frame["log_density"] < lowest)).all()
        # A quarter of these rows were not trained on.
        assert told["outliers"] / len(rows) == pytest.approx(share, abs=0.08)
    far = {**rows[0], "size": "1000", "count": "900"}
    write_csv(folder / "far.csv", [far])
    assert invoke_json("predict", fruit_run, "far.csv", "--out", "far.out.csv")["outliers"] == 1


def test_a_row_as_far_as_numbers_go_has_a_density_and_is_an_outlier(folder: Path, fruit_run: Path):
    write_csv(folder / "far.csv", [{**fruit_rows()[0], "size": "1e30"}])
    told = invoke_json("predict", fruit_run, "far.csv", "--out", "far.out.csv")
    assert told["outliers"] == 1
    assert -np.inf < pd.read_csv("far.out.csv")["log_density"][0] < -1e50


def test_columns_are_met_by_name(folder: Path, new: list[dict[str, str]], fruit_run: Path):
    invoke("predict", fruit_run, "new.csv", "--out", "a.csv")
    more = [{**row, "price": "3", "day": "2024-01-01"} for row in new]
    write_csv(folder / "other.csv", more, ("price", "color", "count", "day", "weight", "size"))
    told = invoke_json("predict", fruit_run, "other.csv", "--out", "b.csv")
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()
    assert told["notes"] == ["columns that the model does not know were ignored: price, day"]
    assert invoke_json("encode", fruit_run, "other.csv", "--out", "z.csv")["notes"] == told["notes"]
    write_csv(folder / "known.csv", [{**row, "label": "apple"} for row in more])
    assert f"Note: {told['notes'][0]}" in invoke("evaluate", fruit_run, "known.csv").stderr


def test_columns_of_another_type_are_met_where_nothing_is_lost(
    folder: Path, new: list[dict[str, str]], fruit_run: Path
):
    invoke("predict", fruit_run, "new.csv", "--out", "a.csv")
    frame = pd.read_csv("new.csv", dtype=str)
    frame["count"] = frame["count"].astype(float)
    frame.to_parquet("new.parquet")
    invoke("predict", fruit_run, "new.parquet", "--out", "b.csv")
    assert (folder / "a.csv").read_text() == (folder / "b.csv").read_text()


def test_what_training_did_not_have_is_noted(folder: Path, new: list[dict[str, str]], fruit_run: Path):
    write_csv(folder / "new.csv", [{**new[0], "color": "green"}, *new[1:]])
    result = invoke("predict", fruit_run, "new.csv", "--out", "a.csv")
    assert result.exit_code == 0
    assert result.stderr == "Note: column 'color' has values that training did not have: green\n"
    assert "50 predictions are in a.csv" in result.stdout


@pytest.mark.parametrize(
    ("change", "options", "named"),
    [
        ({"size": "big"}, [], "new.csv, column 'size', row 2: 'big' is not a number"),
        ({"count": "2.5"}, [], "new.csv, column 'count', row 2: the value is 2.5, but the column was learned as one"),
        ({}, ["--id", "nothing"], "new.csv: there is no column 'nothing'; the columns are id, size"),
        ({}, ["--id", "label"], "column 'label' cannot go through (--id)"),
        ({}, ["--outliers", "2"], "--outliers must lie between 0 and 1, got 2"),
    ],
)
def test_bad_rows_are_refused_by_column_and_leave_nothing(
    folder: Path, fruit_run: Path, change: dict[str, str], options: list[str], named: str
):
    rows = fruit_rows(5)
    rows[1] |= change
    write_csv(folder / "new.csv", rows)
    assert named in refusal("predict", fruit_run, "new.csv", "--out", "out.csv", *options)
    assert [path.name for path in folder.iterdir()] == ["new.csv"]


@pytest.mark.parametrize(
    ("command", "name", "out"),
    [
        ("predict", "label", "o.npz"),
        ("predict", "classes", "o.npz"),
        ("encode", "z", "o.npz"),
        ("encode", "z0", "o.csv"),
    ],
)
def test_a_column_that_goes_through_never_stands_for_an_answer(
    folder: Path, fruit_run: Path, command: str, name: str, out: str
):
    write_csv(folder / "new.csv", [{**row, name: "a"} for row in fruit_rows(5)])
    assert f"column {name!r} cannot go through (--id)" in refusal(
        command, fruit_run, "new.csv", "--id", name, "--out", out
    )


def test_missing_columns_are_refused_by_name(folder: Path, fruit_run: Path):
    write_csv(folder / "new.csv", fruit_rows(5), ("id", "size", "weight", "count"))
    assert "new.csv: there is no column 'color'; the columns are size, weight, count" in refusal(
        "predict", fruit_run, "new.csv", "--out", "out.csv"
    )


def test_labels_keep_their_type(folder: Path):
    rows = [{**row, "label": {"apple": "3", "melon": "7", "": ""}[row["label"]]} for row in fruit_rows()]
    write_csv(folder / "fruit.csv", rows)
    options = ["fruit.csv", "--target", "label", "--ignore", "id", "--no-calibrate", "--out", "run"]
    assert invoke(*fit_file_options(*options)).exit_code == 0
    assert invoke("predict", "run", "fruit.csv", "--out", "p.parquet").exit_code == 0
    labels = pd.read_parquet("p.parquet")["label"]
    assert labels.dtype == np.int64
    assert set(labels) <= {3, 7}


def test_images_of_a_folder(folder: Path, image_run: Path):
    write_images(folder / "new", count=3)
    told = invoke_json("predict", image_run, "new", "--out", "p.csv")
    assert told["rows"] == 9
    files = pd.read_csv("p.csv")["file"].tolist()
    assert files[:4] == ["dark/000.png", "dark/001.png", "dark/002.png", "light/000.png"]
    Image.fromarray(np.zeros((6, 7), dtype=np.uint8)).save("new/dark/wide.png")
    sentence = refusal("predict", image_run, "new", "--out", "q.csv")
    assert "wide.png has 1×6×7 values (channels×height×width), but the model takes 1×6×6" in sentence


def test_a_folder_is_for_models_of_images(folder: Path, fruit_run: Path):
    write_images(folder / "new", count=1)
    assert "new is a folder, but the model was not trained on images" in refusal(
        "predict", fruit_run, "new", "--out", "p.csv"
    )


@pytest.mark.parametrize("extra", [{}, {"day": "2024-01-01"}], ids=["names", "dates"])
def test_a_table_is_not_for_models_of_images(folder: Path, image_run: Path, extra: dict[str, str]):
    write_csv(folder / "t.csv", [{**row, **extra} for row in fruit_rows(5)])
    sentence = refusal("predict", image_run, "t.csv", "--out", "p.csv")
    assert "the model was trained on 6×6 images, but t.csv is a table, with" in sentence
    assert f"with {6 + len(extra)} columns where pixels would make 36" in sentence


def test_older_models_tell_no_outliers(folder: Path, moons_run: Path):
    trained = scnf.load(moons_run)
    trained.densities = ()
    trained.save(folder / "old.safetensors")
    np.save("rows.npy", np.zeros((2, 2)))
    assert invoke("predict", "old.safetensors", "rows.npy", "--out", "p.csv").exit_code == 0
    assert "outlier" not in pd.read_csv("p.csv")
    assert "fit the model again" in refusal(
        "predict", "old.safetensors", "rows.npy", "--out", "q.csv", "--outliers", "0.1"
    )


def test_memory_does_not_grow_with_the_file(folder: Path, fruit_run: Path):
    header, *lines = write_csv(folder / "thousand.csv", fruit_rows(1000)).read_text().splitlines(keepends=True)
    peaks = []
    for rows in (100_000, 1_000_000):  # before that, the buffers of reading and writing fill
        (folder / "many.csv").write_text("".join([header, *lines * (rows // 1000)]))
        options = ["--out", f"{rows}.parquet", "--json", "--threads", "1"]
        # A thread that reads ahead on a busy machine may add to one run, but rows that were kept would add to each.
        peaks.append(min(peak_of_command("predict", str(fruit_run), "many.csv", *options) for _ in range(2)))
    # The larger file has 900,000 more rows: 124 MB of predictions and 45 MB of text, had they been kept.
    assert peaks[1] - peaks[0] < 35, peaks
