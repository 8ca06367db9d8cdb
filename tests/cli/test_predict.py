import csv
from pathlib import Path

import numpy as np
import pytest

from scnf import load_split
from tests.cli.conftest import invoke, invoke_json, refusal


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


@pytest.fixture
def rows() -> np.ndarray:
    return load_split("moons", 10, 7).x_test


def test_predictions_are_the_same_from_every_kind_of_file(folder: Path, moons_run: Path, rows: np.ndarray):
    np.save("a.npy", rows)
    np.savez("b.npz", rows)
    np.savez("c.npz", x=rows, other=rows[:1])
    np.savetxt("d.csv", rows, delimiter=",", fmt="%.9g")
    np.savetxt("e.csv", rows, delimiter=",", fmt="%.9g", header="left,right", comments="")
    texts = []
    for name in ("a.npy", "b.npz", "c.npz", "d.csv", "e.csv"):
        told = invoke_json("predict", moons_run, name, "--out", f"{name}.out.csv")
        assert told["rows"] == 500
        assert sum(told["labels"].values()) == 500
        texts.append((folder / f"{name}.out.csv").read_text())
    assert len(set(texts)) == 1
    first = read_csv(folder / "a.npy.out.csv")[0]
    assert list(first) == ["label", "probability_upper", "probability_lower", "log_density", "outlier"]
    assert float(first["probability_upper"]) + float(first["probability_lower"]) == pytest.approx(1)


def test_predictions_agree_with_the_metrics(folder: Path, moons_run: Path, rows: np.ndarray):
    split = load_split("moons", 10, 7)
    np.save("rows.npy", np.repeat(rows, 5, axis=0))  # more than one batch
    invoke("predict", moons_run, "rows.npy", "--out", "out.npz")
    with np.load("out.npz") as out:
        assert out["probabilities"].shape == (2500, 2)
        wrong = out["label"] != np.array(split.classes)[np.repeat(split.y_test, 5)]
        nll = -out["log_density"].astype(float).mean()
    metrics = invoke_json("evaluate", moons_run)
    assert 100 * wrong.mean() == pytest.approx(metrics["error"])
    assert nll == pytest.approx(metrics["nll"], abs=1e-5)


def test_images_may_come_flat_or_without_their_channel(folder: Path, digits_run: Path):
    images = load_split("digits", 100, 0).x_test[:20]
    np.save("a.npy", images)
    np.save("b.npy", images[:, 0])
    np.savetxt("c.csv", images.reshape(20, -1), delimiter=",", fmt="%d")
    for name in ("a.npy", "b.npy", "c.csv"):
        assert invoke("predict", digits_run, name, "--out", f"{name}.csv").exit_code == 0
    assert len({(folder / f"{name}.csv").read_text() for name in ("a.npy", "b.npy", "c.csv")}) == 1


@pytest.mark.parametrize("name", ["out.csv", "out.npz"])
def test_a_row_beyond_all_reckoning_has_no_label(folder: Path, moons_run: Path, rows: np.ndarray, name: str):
    np.save("rows.npy", np.concatenate([rows[:3], [[1e30, 1e30]]]))
    result = invoke("predict", moons_run, "rows.npy", "--out", name)
    assert result.exit_code == 0
    assert "1 of 4 rows have no label" in result.stderr
    if name == "out.csv":
        labels = [row["label"] for row in read_csv(folder / name)]
    else:
        with np.load(name) as out:
            labels = out["label"].tolist()
    assert set(labels[:3]) <= {"upper", "lower"}
    assert labels[3] == ""
    told = invoke_json("predict", moons_run, "rows.npy", "--out", f"again-{name}")
    assert (told["rows"], told["unlabelled"], sum(told["labels"].values())) == (4, 1, 3)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("a,b\n1,2\n3,x\n", "rows.csv, column 'b', row 2: 'x' is not a number"),
        ("1,2\n,4\n", "row 2, column 1 (x0): the value is nan, which is not a finite number"),
        ("1,2\n3,nan\n", "row 2, column 2 (x1): the value is nan, which is not a finite number"),
        ("1,2\n1e300,4\n", "row 2, column 1 (x0): the value is 1e+300, which is not a finite number"),
        ("1,2\n3\n", "line 2: the number of columns is 1, but the file began with 2"),
        ("a,b,c\n1,2,3\n", "rows.csv: the number of columns is 3, but the model takes 2"),
        ("a,b\n", "rows.csv holds no rows"),
        ("", "rows.csv is empty"),
    ],
)
def test_bad_text_is_refused_by_row_and_column(folder: Path, moons_run: Path, text: str, named: str):
    (folder / "rows.csv").write_text(text)
    assert named in refusal("predict", moons_run, "rows.csv", "--out", "out.csv")
    assert [path.name for path in folder.iterdir()] == ["rows.csv"]


@pytest.mark.parametrize(
    ("array", "named"),
    [
        (np.zeros((3, 5)), "has shape 3×5, but the model takes rows of 2 values"),
        (np.zeros(2), "has shape 2, but"),
        (np.array([["a", "b"]]), "holds values of type <U1, not numbers"),
        (np.array([[None, 1]], dtype=object), "is damaged or not a .npy file of numbers and names"),
        (np.array([[0, 1], [np.inf, 2]]), "row 2, column 1: the value is inf"),
        (np.zeros((0, 2)), "holds no rows"),
    ],
)
def test_bad_arrays_are_refused(folder: Path, moons_run: Path, array: np.ndarray, named: str):
    np.save("rows.npy", array, allow_pickle=True)
    assert named in refusal("predict", moons_run, "rows.npy", "--out", "out.csv")


def test_bad_files_are_refused(folder: Path, moons_run: Path):
    (folder / "text.txt").write_text("1,2\n")
    (folder / "broken.npz").write_text("1,2\n")
    (folder / "latin.csv").write_bytes(b"1,2\n\xe9,3\n")
    np.savez("two.npz", a=np.zeros((1, 2)), b=np.zeros((1, 2)))
    np.save("rows.npy", np.zeros((1, 2)))
    (folder / "there.csv").write_text("mine")
    assert "nothing.csv does not exist" in refusal("predict", moons_run, "nothing.csv", "--out", "out.csv")
    assert "must end in .csv" in refusal("predict", moons_run, "text.txt", "--out", "out.csv")
    assert "broken.npz is" in refusal("predict", moons_run, "broken.npz", "--out", "out.csv")
    assert "latin.csv is damaged or no .csv file in UTF-8" in refusal(
        "predict", moons_run, "latin.csv", "--out", "out.csv"
    )
    assert "holds the arrays a, b" in refusal("predict", moons_run, "two.npz", "--out", "out.csv")
    assert "must end in .csv, .tsv, .parquet, .feather or .npz" in refusal(
        "predict", moons_run, "rows.npy", "--out", "out.txt"
    )
    assert "there.csv exists already" in refusal("predict", moons_run, "rows.npy", "--out", "there.csv")
    assert (folder / "there.csv").read_text() == "mine"


def test_integers_out_of_range_are_refused(folder: Path, digits_run: Path):
    image = np.zeros((1, 64))
    image[0, 5] = 17
    np.save("rows.npy", image)
    sentence = refusal("predict", digits_run, "rows.npy", "--out", "out.csv")
    assert "row 1, column 6: the value is 17, but the model was trained on whole numbers from 0 to 16" in sentence
