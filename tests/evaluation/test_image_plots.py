import numpy as np

from scnf.evaluation.image_plots import Curve, run_curves_figure, sample_figure
from scnf.evaluation.plots import to_png
from scnf.evaluation.themes import DARK
from tests.small_images import small_image_model


def curve(height: float) -> Curve:
    test = [{"minutes": m, "bits_per_dim": height + 1 / m, "error": height} for m in (1, 2, 3)]
    return Curve([[m, height - m] for m in (0.5, 1, 1.5, 2)], test)


def test_curves_have_a_line_for_each_run_and_a_name_for_each_recipe():
    figure = run_curves_figure({"first": [curve(1.0), curve(1.2)], "second": [curve(2.0)]})
    assert [len(ax.get_lines()) for ax in figure.axes] == [3, 3, 3]
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["first", "second"]
    np.testing.assert_allclose(figure.axes[1].get_lines()[0].get_ydata(), [2.0, 1.5, 4 / 3])
    assert {ax.get_xlabel() for ax in figure.axes} == {"minutes"}
    assert to_png(figure).startswith(b"\x89PNG")


def test_one_point_can_be_drawn():
    point = Curve([[1.0, 2.0]], [{"minutes": 1.0, "bits_per_dim": 1.0, "error": 0.0}])
    assert to_png(run_curves_figure({"only": [point]}, DARK)).startswith(b"\x89PNG")


def test_samples_have_a_row_for_each_class():
    figure = sample_figure(small_image_model())
    (image,) = figure.axes[0].get_images()
    assert image.get_array().shape == (10 * 29 + 1, 10 * 29 + 1)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == list("0123456789")
    assert to_png(figure) == to_png(sample_figure(small_image_model()))
