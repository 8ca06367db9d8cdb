"""Small files as people have them: a table with numbers, names and gaps, and folders of images."""

import csv
from pathlib import Path

import numpy as np
from PIL import Image

COLUMNS = ("id", "size", "weight", "count", "color", "label")


def fruit_rows(rows: int = 120, every: int = 4, seed: int = 0) -> list[dict[str, str]]:
    """Return rows of a table of apples and melons, each ``every``-th of them with a label."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(rows):
        melon = bool(rng.random() < 0.5)
        size = rng.normal(8 if melon else 5, 1)
        weight = "" if rng.random() < 0.05 else f"{np.exp(0.3 * size + rng.normal(0, 0.3)):.4f}"
        color = rng.choice(["red", "blue", ""], p=[0.2, 0.75, 0.05] if melon else [0.75, 0.2, 0.05])
        label = ("melon" if melon else "apple") if i % every == 0 else ""
        values = (f"n{i:04d}", f"{size:.3f}", weight, str(rng.poisson(9 if melon else 2)), str(color), label)
        found.append(dict(zip(COLUMNS, values, strict=True)))
    return found


def write_csv(path: Path, rows: list[dict[str, str]], columns: tuple[str, ...] | None = None) -> Path:
    """Write rows to a .csv file, some columns of them in some order if they are named."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns or tuple(rows[0]), extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_images(folder: Path, count: int = 12, size: int = 6) -> Path:
    """Write ``dark`` and ``light`` images and some in ``unlabeled``."""
    rng = np.random.default_rng(0)
    for name, low in (("dark", 0), ("light", 128), ("unlabeled", 64)):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            pixels = rng.integers(low, low + 100, (size, size), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i:03d}.png")
    return folder
