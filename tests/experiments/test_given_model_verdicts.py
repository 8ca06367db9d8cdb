"""What the pages of Appendix A and of foreign images say in one line."""

import pytest

from scnf.experiments import appendix_a_render, ood_render


@pytest.mark.parametrize(
    ("followed", "ink", "words"),
    [
        (80.0, 0.5, "holds on mnist"),
        (80.0, 0.49, "does not hold on mnist, as to style"),
        (79.9, 0.5, "does not hold on mnist, as to class"),
        (79.9, 0.49, "does not hold on mnist, as to class and style"),
    ],
)
def test_style_is_kept_and_class_is_not(followed, ink, words):
    row = {"data": "mnist", "followed": followed, "kept_old": 2.5, "ink_correlation": ink}
    line = appendix_a_render.verdict({"rows": [row]})
    assert line.startswith(f"**The claim {words}**: ")
    assert f"take {followed:.1f} % of the images" in line
    assert "2.5 % for their old one" in line
    assert line.endswith(f"a correlation of {ink:.2f}.")


def test_every_model_has_its_sentence():
    rows = [{"data": name, "followed": 90.0, "kept_old": 2.5, "ink_correlation": 0.7} for name in ("mnist", "letters")]
    line = appendix_a_render.verdict({"rows": rows})
    assert "holds on mnist" in line
    assert "holds on letters" in line


def foreign(density=0.9, typicality=0.8, error=3.0, error_at_90=1.0, data="mnist", other="fashion-mnist"):
    return {
        "data": data,
        "other": other,
        "auroc_density": density,
        "auroc_typicality": typicality,
        "error": error,
        "error_at_90": error_at_90,
    }


@pytest.mark.parametrize(
    ("density", "typicality", "words"),
    [
        (0.9, 0.8, "log p(x) tells fashion-mnist apart best (AUROC 0.900); leaving"),
        (0.8, 0.9, "typicality tells fashion-mnist apart best (AUROC 0.900); leaving"),
        (0.6, 0.5, "log p(x) tells fashion-mnist apart best (AUROC 0.600); leaving"),
        (0.599, 0.5, "neither score tells fashion-mnist apart (AUROC 0.599 at best); leaving"),
        (
            0.4,
            0.9,
            "typicality tells fashion-mnist apart best (AUROC 0.900); log p(x) takes fashion-mnist for the more",
        ),
        (0.4, 0.3, "neither score tells fashion-mnist apart (AUROC 0.400 at best); log p(x) takes fashion-mnist for"),
    ],
)
def test_the_score_that_tells_foreign_images_apart_is_named(density, typicality, words):
    assert ood_render.verdict({"rows": [foreign(density, typicality)]}).startswith(f"**mnist**: {words}")


@pytest.mark.parametrize(
    ("error_at_90", "words"),
    [
        (1.0, "lowers the error from 3.00 to 1.00 %."),
        (3.0, "does not lower the error (3.00 %, then 3.00 %)."),
        (3.1, "does not lower the error (3.00 %, then 3.10 %)."),
    ],
)
def test_whether_it_knows_what_it_is_unsure_of(error_at_90, words):
    line = ood_render.verdict({"rows": [foreign(error_at_90=error_at_90)]})
    assert line.endswith(f"leaving out the tenth it is least sure of {words}")


def test_every_kind_of_images_has_its_sentence():
    line = ood_render.verdict({"rows": [foreign(), foreign(data="fashion-mnist", other="mnist")]})
    assert "**mnist**: log p(x) tells fashion-mnist apart" in line
    assert " **fashion-mnist**: log p(x) tells mnist apart" in line
