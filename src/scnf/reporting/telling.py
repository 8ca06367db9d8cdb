"""Numbers in words."""

import numpy as np
from scipy.stats import binomtest


def percent(share: float, digits: int = 1) -> str:
    """Return a share in percent."""
    return f"{100 * share:.{digits}f} %"


def certainty(share: float) -> str:
    """Return a probability in percent; what is rounded to all or nothing says so."""
    if share > 0.999:
        return "> 99.9 %"
    return "< 0.1 %" if share < 0.001 else percent(share)


def error_interval(wrong: int, rows: int) -> str:
    """Return where the error of all rows of this kind lies with 95 % (Wilson's interval), in percent."""
    low, high = binomtest(wrong, rows).proportion_ci(method="wilson")
    return f"{100 * low:.1f} to {100 * high:.1f} %"


def class_name(classes: tuple[str, ...], code: int) -> str:
    """Return the name of a class by its code; -1 is no label, -2 one that the model does not know."""
    return classes[code] if code >= 0 else ("" if code == -1 else "(not known)")


def row_count(count: int) -> str:
    """Return a number of rows."""
    return f"{count:,} row" + "s" * (count != 1)


def counts_of(codes: np.ndarray, classes: int) -> np.ndarray:
    """Return how many rows each class has ``[K]``."""
    return np.bincount(codes[codes >= 0], minlength=classes)
