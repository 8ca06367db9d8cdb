import pytest

from scnf.evaluation.records import read_record
from scnf.experiments import Options
from scnf.experiments.appendix_b import NAME, STUDIES, plan, rendered, rows, run
from scnf.experiments.appendix_b_render import verdict
from scnf.experiments.rendering import outdated
from scnf.experiments.study import Study


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


@pytest.mark.parametrize(("em", "word"), [(5.4, "holds on moons"), (9.0, "does not hold on moons")])
def test_a_difference_is_one_beyond_that_of_splits(em, word):
    rows = [
        {"data": "moons", "objective": objective, "error": {"mean": mean, "std": 0.5}}
        for objective, mean in (("sgd", 5.0), ("em", em))
    ]
    assert f"The claim {word}" in verdict({"rows": rows})
    assert "not recorded" in verdict({"rows": rows[:1]})
