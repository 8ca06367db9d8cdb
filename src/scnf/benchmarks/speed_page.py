"""The page about speed and its plots, made from the record alone."""

from pathlib import Path
from typing import Any

from scnf.benchmarks import class_count, glow_peer
from scnf.evaluation.plots import to_png
from scnf.evaluation.tables import markdown_table, update_block

RESULTS, DOCS, BLOCK = Path("results/bench"), Path("docs/speed.md"), "speed"
# What the training of the paper's network is to reach of the roofline.
AIM_RECIPE, AIM_PERCENT = "paper-mnist", 85
# Below this, two processes are not worth starting.
_WORTHWHILE = 1.05

COLUMNS = (
    ("batch_size", "images in a batch"),
    ("images_at_once", "of them at once"),
    ("convolution_mmacs", "convolutions, MMAC/image"),
    ("train_images_per_second", "training images/s"),
    ("train_percent_of_roofline", "% of roofline"),
    ("compiled_images_per_second", "compiled, images/s"),
    ("compiled_percent_of_roofline", "% of roofline"),
    ("bf16_images_per_second", "in bfloat16, images/s"),
    ("bf16_percent_of_roofline", "% of roofline of 32 bits"),
    ("infer_images_per_second", "inference images/s"),
    ("infer_percent_of_roofline", "% of roofline"),
    ("training_peak_mib", "training MiB"),
    ("inference_peak_mib", "inference MiB"),
    ("loader_percent_of_step", "making a batch, % of a step"),
    ("one_process_images_per_second", "fit of one process, images/s"),
    ("two_processes_images_per_second", "fit of two processes, images/s"),
    ("two_processes_over_one", "two over one"),
)


def table_rows(record: dict[str, Any]) -> list[list[str]]:
    """Return one row of text for each recipe and peer."""
    rows = []
    for entry in record["speed"]:
        for name, values in [(entry["recipe"], entry), *((peer["name"], peer) for peer in entry["peers"])]:
            rows.append([name, *(_number(values.get(key)) for key, _ in COLUMNS)])
    return rows


def _number(value: float | None) -> str:
    if value is None or isinstance(value, int):
        return "–" if value is None else f"{value:,}"
    return f"{value:,.2f}" if value < 10 else f"{value:,.1f}"


def findings(record: dict[str, Any]) -> str:
    """Return what the numbers say, as a list: for the page, and for the block of the docs."""
    told = [_aim(record), _peers(record), _devices(record), _loader(record)]
    return "\n".join(f"- {sentence}" for sentence in told if sentence)


def _aim(record: dict[str, Any]) -> str | None:
    entries = [entry for entry in record["speed"] if entry["recipe"] == AIM_RECIPE]
    if not entries:
        return None
    reached, compiled = (entries[0].get(f"{kind}_percent_of_roofline") for kind in ("train", "compiled"))
    verdict = "reached" if max(reached, compiled or 0) >= AIM_PERCENT else "missed"
    also = "" if compiled is None else f", and {compiled:.1f} % with `training.compile`"
    return (
        f"**The aim is {verdict}**: training `{AIM_RECIPE}` is to have at least {AIM_PERCENT} % of the roofline, and "
        f"has {reached:.1f} %{also}."
    )


def _peers(record: dict[str, Any]) -> str | None:
    work = [
        f"{_number(peer['convolution_mmacs'])} beside the {_number(entry['convolution_mmacs'])} of `{entry['recipe']}`"
        for entry in record["speed"]
        for peer in entry["peers"]
    ]
    if not work:
        return None
    return (
        f"**Compare {glow_peer.NAME} by its share of the roofline, not by images a second**: it has a recipe's steps, "
        f"but nets of its own, and so does other work. Its MMAC an image: {', '.join(work)}."
    )


def _devices(record: dict[str, Any]) -> str:
    ratios = {f"`{entry['recipe']}`": entry["two_processes_over_one"] for entry in record["speed"]}
    faster = [name for name, ratio in ratios.items() if ratio >= _WORTHWHILE]
    verdict = f"helps {' and '.join(faster)}" if faster else "brings nothing"
    shares = " and ".join(f"{ratio:.2f} ({name})" for name, ratio in ratios.items())
    return (
        f"**`--devices 2` {verdict} on this machine**: two processes have {shares} of the speed of one process with "
        f"{record['machine']['threads']} threads, in the median over the turns that their fits take."
    )


def _loader(record: dict[str, Any]) -> str:
    copies = record["copies"]
    return (
        f"Batches are made of {record['rows']:,} images. With the altered copies of `{copies['recipe']}` making one "
        f"takes {_number(copies['loader_percent_of_step'])} % of a step."
    )


def page(record: dict[str, Any]) -> str:
    """Return the page."""
    parts = [
        f"# Speed\n\nOn {record['machine']['threads']} threads, each recipe with batches of its own size. "
        "The roofline is a bare loop of the same convolutions, channels last, taking turns with the model.",
        markdown_table(["recipe", *(title for _, title in COLUMNS)], table_rows(record)),
        findings(record),
    ]
    if record["quick"]:
        parts.insert(1, "**A quick run: it shows that everything works, and its numbers mean nothing.**")
    if record["peer_note"]:
        parts.append(record["peer_note"] + ".")
    for name, rows in record["labels"].items():
        cells = [
            [f"{row['classes']:,}", *(f"{row[key]:,.1f}" for key in ("log_joint_ms", "all_passes_ms"))] for row in rows
        ]
        parts.append(
            f"## {name}: all labels at once\n\nMilliseconds for {record['labels_batch_size']} images; K passes are K "
            "times one measured pass with a known label."
        )
        parts.append(markdown_table(["classes K", "log_joint", "K passes"], cells, left=0))
    return "\n\n".join(parts) + "\n"


def write_pages(out: Path, record: dict[str, Any]) -> None:
    """Write page and plots to a folder; beside the repository's own results the docs are brought up to date."""
    (out / "speed.md").write_text(page(record), encoding="utf-8")
    for name, rows in record["labels"].items():
        (out / f"labels-{Path(name).stem}.png").write_bytes(to_png(class_count.figure(rows, name)))
    if out.resolve() == RESULTS.resolve():
        update_block(DOCS, BLOCK, findings(record))
