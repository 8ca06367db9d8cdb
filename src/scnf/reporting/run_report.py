"""The report on a run: one page with all that can be told of it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from scnf import __version__
from scnf.evaluation.records import machine
from scnf.recipes import recipe_to_toml
from scnf.reporting.blocks import Block, Code, Facts, Figures, Section, Text
from scnf.reporting.curves import nats_of_levels, training_pictures
from scnf.reporting.data_section import data_section
from scnf.reporting.judging import Judged, judge
from scnf.reporting.latent_sections import latent_section, probe_section
from scnf.reporting.material import Material
from scnf.reporting.page import render
from scnf.reporting.quality_section import confusion_section, quality_section
from scnf.reporting.row_sections import label_next_section, uncertain_section, unusual_section
from scnf.reporting.sample_section import sample_section

# Called with what is done next.
OnStage = Callable[[str], None]


@dataclass(frozen=True)
class RunReport:
    """A page and the main numbers on it."""

    page: str
    numbers: dict[str, Any]


def make_report(material: Material, on_stage: OnStage = lambda stage: None) -> RunReport:
    """Look at a run and write its page."""
    on_stage("looking at rows")
    train = None if material.train is None else judge(material.trained, material.train)
    test = None if material.test is None else judge(material.trained, material.test)
    judged = [one for one in (train, test) if one is not None]
    stages: dict[str, list[Callable[[], Section]]] = {
        "drawing training, error and calibration": [
            lambda: data_section(material, train),
            lambda: training_section(material),
            lambda: quality_section(material, test),
            lambda: confusion_section(material, test),
        ],
        "choosing rows": [
            lambda: uncertain_section(material, judged),
            lambda: unusual_section(material, judged),
            lambda: label_next_section(material, train),
        ],
        "drawing samples": [lambda: sample_section(material, train)],
        "drawing the latent map": [lambda: latent_section(material, train)],
        "probing the latents": [lambda: probe_section(material, train, test)],
    }
    sections = []
    for stage, makers in stages.items():
        on_stage(stage)
        sections += [make() for make in makers]
    sections.append(repeat_section(material))
    numbers = main_numbers(material, train, test)
    page = render(
        "report.html.j2",
        place=material.place,
        data_name=material.data_name,
        tiles=_tiles(material, numbers),
        sections=sections,
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        version=__version__,
    )
    return RunReport(page, numbers)


def main_numbers(material: Material, train: Judged | None, test: Judged | None) -> dict[str, Any]:
    """Return what a program may want of the page; None where it cannot be told."""
    labelled = None if test is None or not test.labelled.any() else test.labelled
    error = material.metrics.get("error")
    if test is not None and labelled is not None and (error is None or len(test) == test.total):
        error = 100 * float((test.predicted[labelled] != test.rows.codes[labelled]).mean())
    return {
        "data": material.data_name,
        "rows": None if material.train is None else len(material.train),
        "labels": None if material.train is None else int((material.train.codes != -1).sum()),
        "test_rows": None if material.test is None else len(material.test),
        "error": error if labelled is not None else None,
        "temperature": material.trained.temperature,
        "rows_looked_at": sum(len(one) for one in (train, test) if one is not None),
    }


def _tiles(material: Material, numbers: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return what stands in large type: a number, what it is, and a line below it."""
    tiles = []
    if numbers["error"] is not None:
        tiles.append((f"{numbers['error']:.1f} %", "test error", f"{numbers['test_rows']:,} test rows"))
    elif material.metrics.get("hidden_label_error") is not None:
        tiles.append(
            (
                f"{material.metrics['hidden_label_error']:.1f} %",
                "wrong",
                f"of {material.metrics['hidden_labels']:,} labels hidden from quick fits",
            )
        )
    if numbers["rows"] is not None:
        tiles.append((f"{numbers['labels']:,}", "labels", f"of {numbers['rows']:,} rows to learn from"))
    tiles.append((f"{len(material.trained.classes):,}", "classes", f"recipe “{material.trained.recipe.name}”"))
    if material.metrics.get("seconds") is not None:
        tiles.append((f"{material.metrics['seconds']:.0f} s", "to train", f"{_parameters(material):,} parameters"))
    return tiles


def _parameters(material: Material) -> int:
    return sum(parameter.numel() for parameter in material.trained.model.parameters())


def training_section(material: Material) -> Section:
    """Return the training curves."""
    trained = material.trained
    pictures = training_pictures(
        material.history,
        material.metrics.get("objectives") or [],
        trained.recipe,
        nats_of_levels(trained.model.dimensions, trained.levels),
    )
    blocks: list[Block] = [Figures(pictures)]
    if not pictures:
        blocks = [Text("There are no training curves: they lie in the run folder, beside the model.", quiet=False)]
    elif trained.table is not None:
        blocks.append(
            Text("Nats of training are those of encoded columns; test rows are told in the data's own units.")
        )
    return Section("training", "Training", "training", blocks)


def repeat_section(material: Material) -> Section:
    """Return the recipe, the command that repeats the run and how to go on."""
    trained = material.trained
    blocks: list[Block] = []
    if material.repeat is None:
        blocks.append(Text("The command that repeats the run lies in its folder, which is not here.", quiet=False))
    else:
        blocks.append(Text("The same rows and the same seed give, on the same machine, the same weights."))
        blocks.append(Code(material.repeat))
    blocks.append(
        Code(
            f"import scnf\n\ntrained = scnf.load({material.place!r})\n"
            "told = trained.predict(rows)  # rows as the data have them\n"
            "told.label, told.probabilities, told.log_density\n"
            f"trained.sample(100, {trained.classes[0]!r})  # new rows of one class"
        )
    )
    here = machine()
    spec = trained.recipe.model
    blocks.append(
        Facts(
            {
                "recipe": f"{trained.recipe.name}: {spec.f.kind} f, {spec.h.kind} h",
                "model": f"{_parameters(material):,} parameters; z_f has {trained.model.conditional.features} of "
                f"{trained.model.dimensions} components",
                "page made with": f"scnf {__version__}, Python {here['python']}, torch {here['torch']}",
            }
        )
    )
    blocks.append(
        Code(recipe_to_toml(trained.recipe), title=f"The recipe “{trained.recipe.name}”, every key with its value")
    )
    return Section("repeat", "The recipe, and how to repeat the run", "repeat", blocks)
