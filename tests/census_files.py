"""Small stand-ins for the files of the census table."""

from pathlib import Path

import numpy as np

_REMARK = "|1x3 Cross validator\n"


def census_lines(rows: int, seed: int, test: bool = False) -> str:
    """Return rows in the format of adult.data, or of adult.test, in which sex and income show in other columns."""
    rng = np.random.default_rng(seed)
    lines = []
    for i in range(rows):
        male, married = rng.random() < 0.67, rng.random() < 0.5
        years = int(rng.integers(5, 16))
        rich = rng.random() < (0.8 if married and years > 9 else 0.05)
        values = [
            int(rng.integers(17, 80)), "?" if i % 10 == 3 else "Private", int(rng.integers(10_000, 99_999)),
            f"e{years}",
            years, "Married" if married else "Never-married", "Sales" if i % 3 else "Tech-support",
            ("Husband" if male else "Wife") if married else "Not-in-family", "White" if i % 7 else "Black",
            "Male" if male else "Female", 0 if i % 9 else 5_000, 0, int(rng.integers(20, 60)), "United-States",
            (">50K" if rich else "<=50K") + "." * test,
        ]  # fmt: skip
        lines.append(", ".join(map(str, values)))
    return _REMARK * test + "\n".join(lines) + "\n\n"


def write_census(folder: Path, train_rows: int = 60, test_rows: int = 40) -> Path:
    """Write both files under their published names."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "adult.data").write_text(census_lines(train_rows, seed=0))
    (folder / "adult.test").write_text(census_lines(test_rows, seed=1, test=True))
    return folder
