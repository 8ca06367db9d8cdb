"""Numbers that tell how good a model is: pure functions of ``log_joint`` and labels, and the passes that fill them."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from scnf.data.batches import dequantize, middles
from scnf.evaluation.reliability import reliability
from scnf.model import SemiConditionalFlow
from scnf.processor import fast_products

# Called after each batch with the rows that are done and the rows in all.
OnRows = Callable[[int, int], None]
# Images in batches as large as those of short rows would take gigabytes inside a convolution.
_MOST_ROWS, _MOST_VALUES = 2048, 2**18


def error_percent(log_joint: Tensor, y: Tensor) -> float:
    """Return the share of rows whose most probable class is not y, in percent."""
    return float((log_joint.argmax(1) != y).double().mean()) * 100


def expected_calibration_error(log_joint: Tensor, y: Tensor, bins: int = 15) -> float:
    """Return the mean gap between confidence and accuracy over equal-width bins of confidence, as a share.

    A row without probabilities makes it NaN.

    Reference: Guo et al., On Calibration of Modern Neural Networks (2017).
    """
    probabilities = log_joint.softmax(1)
    if bool(probabilities.isnan().any()):
        return math.nan
    return reliability(probabilities.numpy(), y.numpy(), bins).ece


def mean_nll(log_joint: Tensor) -> float:
    """Return −log p(x), a row's mean, in nats."""
    return -float(log_joint.double().logsumexp(1).mean())


def bits_per_dim(nll: float, dimensions: int) -> float:
    """Return −log p(x) in bits for each component of x, from a row's nats."""
    return nll / (dimensions * math.log(2))


def rows_in_a_batch(dimensions: int) -> int:
    """Return how many rows of so many values go through a model at a time."""
    return min(_MOST_ROWS, max(_MOST_VALUES // dimensions, 1))


@torch.no_grad()
def log_joint_of(
    model: SemiConditionalFlow,
    x: Tensor,
    levels: int | None = None,
    batch_size: int | None = None,
    seed: int = 0,
    on_rows: OnRows = lambda done, total: None,
) -> Tensor:
    """Return ``log_joint`` of all rows, batch by batch, in the units of x.

    The density of integers is that of one dequantised sample, with a fixed seed. Their classes are told in the middle
    between one value and the next, where no noise blurs them.
    """
    device = next((buffer.device for buffer in model.buffers()), x.device)
    generator = torch.Generator().manual_seed(seed)
    # The model's unit is 1/levels of the data's: the density in the data's units is smaller by levels^D.
    shift = model.dimensions * math.log(levels) if levels is not None else 0.0
    size = batch_size or rows_in_a_batch(math.prod(x.shape[1:]))
    parts = []
    with torch.random.fork_rng(), fast_products():
        # What a layer draws itself (Hutchinson's probes) is the same in every pass too.
        torch.manual_seed(seed)
        for start, rows in zip(range(0, len(x), size), x.cpu().split(size), strict=True):
            # Noise is drawn on the CPU, so that it is the same on every device.
            values = rows if levels is None else dequantize(rows, levels, generator)
            log_joint = model.log_joint(values.to(device))
            if levels is not None:
                posterior = model.log_joint(middles(rows, levels).to(device)).log_softmax(1)
                log_joint = log_joint.logsumexp(1, keepdim=True) + posterior
            parts.append(log_joint.cpu() - shift)
            on_rows(start + len(rows), len(x))
    return torch.cat(parts)


def evaluate(
    model: SemiConditionalFlow,
    x: Tensor,
    y: Tensor,
    levels: int | None = None,
    on_rows: OnRows = lambda done, total: None,
) -> dict[str, float]:
    """Return error (%), nll (nats), ece, and bits_per_dim where the data are integers."""
    log_joint = log_joint_of(model, x, levels, on_rows=on_rows)
    nll = mean_nll(log_joint)
    metrics = {
        "error": error_percent(log_joint, y),
        "nll": nll,
        "ece": expected_calibration_error(log_joint, y),
    }
    if levels is not None:
        metrics["bits_per_dim"] = bits_per_dim(nll, model.dimensions)
    return metrics
