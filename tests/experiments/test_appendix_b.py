import pytest

from scnf.evaluation.records import read_record
from scnf.experiments import Options
from scnf.experiments.appendix_b import NAME, STUDIES, plan, rendered, rows, run
from scnf.experiments.appendix_b_render import differences, page, summarize, verdict
from scnf.experiments.rendering import outdated
from scnf.experiments.study import Study
from scnf.experiments.summary import spread


def test_objectives_alone_differ():
    for study in STUDIES:
        sgd, em = study.known_recipes().values()
        assert sgd.model == em.model
        assert (sgd.training.objective, em.training.objective) == ("sgd", "em")
        assert sgd.training.model_copy(update={"objective": "em"}) == em.training


def test_curves_of_both_objectives_on_the_same_split(tmp_path, tiny_recipe, in_process):
    studies = (
        Study(NAME, rows(tiny_recipe("toy", steps=24), "toy"), ("moons",), labels=10, splits=2, curves=True),
        Study(NAME, rows(tiny_recipe("digits"), "digits"), ("digits",), labels=100, splits=1, curves=True),
    )
    summary = run(Options(out=tmp_path, data=["moons"]), studies)
    assert [(row["data"], row["objective"], row["splits"]) for row in summary["rows"]] == [
        ("moons", "sgd", 2), ("moons", "em", 2)
    ]  # fmt: skip
    sgd, em = (read_record(tmp_path / NAME / f"toy-{name}" / "moons-0.json") for name in ("sgd", "em"))
    assert [point["step"] for point in sgd["test_curve"]] == [point["step"] for point in em["test_curve"]]
    assert len(sgd["test_curve"]) > 6
    # Fisher's identity: the gradients are the same, so are the runs up to rounding.
    for ours, theirs in zip(sgd["test_curve"], em["test_curve"], strict=True):
        assert ours["nll"] == pytest.approx(theirs["nll"], abs=1e-3)
    assert "The claim holds on moons" in summary["verdicts"][0]
    assert (tmp_path / NAME / "curves.png").is_file()
    assert outdated(rendered(tmp_path, studies), tmp_path / NAME) == []
    assert [task.data for task in plan(Options(out=tmp_path), studies) if not task.is_done()] == ["digits", "digits"]
    assert run(Options(out=tmp_path, render_only=True), studies)["rows"] == summary["rows"]


def record(seed, error, steps=400, **training):
    metrics = {"error": error, "nll": 1.0}
    return {
        "data": {"labels": 10}, "seed": seed, "metrics": metrics, "steps": [steps], "recipe": {"training": training}
    }  # fmt: skip


def test_errors_are_compared_on_the_same_split():
    sgd = [record(0, 1.0), record(1, 5.0), record(2, 9.0)]
    em = [record(2, 9.5), record(1, 5.25), record(3, 7.0)]  # in another order, and of each one split is missing
    found = differences({"moons": {"sgd": sgd, "em": em}, "digits": {"sgd": sgd}})
    assert found["moons"]["values"] == [0.25, 0.5]
    assert found["digits"]["values"] == []


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"moons": [0.0, 0.0, 0.0]}, "**The claim holds on moons**"),
        # The mean is 0.4; a standard error is 0.2 in the first case, and 0.19 in the second.
        ({"moons": [0.4 - 0.2 * 3**0.5, 0.4, 0.4 + 0.2 * 3**0.5 + 1e-9]}, "**The claim holds on moons**"),
        ({"moons": [0.4 - 0.19 * 3**0.5, 0.4, 0.4 + 0.19 * 3**0.5]}, "**The claim does not hold on moons**"),
        ({"moons": [-0.5, -0.4, -0.6]}, "**The claim does not hold on moons**"),
        ({"moons": [0.1, -0.1], "mnist": [1.0, 1.1]}, "**The claim holds on moons and does not hold on mnist**"),
        ({"moons": [0.1, -0.1], "mnist": [9.0]}, "**The claim holds on moons**"),
        ({"moons": [9.0], "mnist": []}, "Two splits of both objectives are not recorded on any data set yet."),
    ],
)
def test_a_difference_is_one_beyond_two_standard_errors_of_its_pairs(found, words):
    rows = [{"data": data, "minutes": None} for data in found]
    summary = {"rows": rows, "differences": {data: spread(values) for data, values in found.items()}}
    assert verdict(summary).startswith(words)


def test_the_verdict_tells_mean_and_standard_error():
    summary = {"rows": [{"data": "moons", "minutes": None}], "differences": {"moons": spread([-0.3, -0.1])}}
    assert verdict(summary).endswith(
        "is at most 2 standard errors; in points, ± one standard error: moons -0.20 ± 0.10."
    )


@pytest.mark.parametrize(
    ("training", "words"),
    [
        ({}, None),
        ({"max_minutes": 2.0}, "On moons time ended the runs, not a number of steps (SGD 300, 310; EM-SGD 320, 330)."),
        (
            {"max_minutes": 2.0, "guess": 0.8},
            "(SGD 300, 310; EM-SGD 320, 330), and for 80 % of a run a graph stands in for the posterior of both.",
        ),
    ],
)
def test_runs_that_time_ended_are_told(training, words):
    steps = {"sgd": (300, 310), "em": (320, 330)}
    of_data = {name: [record(i, 1.0, n, **training) for i, n in enumerate(of)] for name, of in steps.items()}
    text = page(summarize({"moons": of_data}))
    assert ("time ended the runs" in text) == (words is not None)
    assert words is None or words in text
