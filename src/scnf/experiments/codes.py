"""What codes of images show: pictures without z_aux, and whether a label that is swapped changes anything."""

import numpy as np
import torch

from scnf.data import Split
from scnf.evaluation.metrics import rows_in_a_batch
from scnf.modelfile import TrainedModel


def one_of_each_class(split: Split) -> np.ndarray:
    """Return the place of the first test row of every class that has one, in the order of the classes."""
    return np.unique(split.y_test, return_index=True)[1]


def as_bytes(trained: TrainedModel, x: torch.Tensor) -> np.ndarray:
    """Return grey images that a model made as bytes ``[N, H, W]``."""
    images: np.ndarray = trained.in_units_of_data(x.nan_to_num(nan=0.0))[:, 0]
    return images


@torch.no_grad()
def reconstructions(trained: TrainedModel, x: np.ndarray) -> np.ndarray:
    """Return images ``[N, H, W]`` from their z_f alone, z_aux set to zero."""
    z_f, z_aux, _ = trained.exact.encode(trained.rows(x))
    return as_bytes(trained, trained.exact.decode(z_f, torch.zeros_like(z_aux)))


@torch.no_grad()
def decoded_with_every_label(trained: TrainedModel, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return images ``[N, K, H, W]``: encoded by their labels and decoded with each, z_aux set to zero."""
    z_h = trained.exact.obfuscate(trained.rows(x), torch.from_numpy(y))
    classes = trained.model.classes
    codes = z_h.repeat_interleave(classes, 0)
    labels = torch.arange(classes).repeat(len(x))
    size = rows_in_a_batch(trained.model.dimensions)
    parts = [
        as_bytes(trained, trained.exact.reveal(codes[i : i + size], labels[i : i + size]))
        for i in range(0, len(codes), size)
    ]
    images = np.concatenate(parts)
    return images.reshape(len(x), classes, *images.shape[1:])


@torch.no_grad()
def label_use(trained: TrainedModel, x: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return how much a model uses the label of rows.

    ``label_nats`` is the mean of log p(x | y) − log p(x), what the true label tells of x: log K at best, 0 where it
    makes no difference. ``label_gap`` is the mean of log p(x | y) − log p(x | k) over all other labels k.
    ``swap_changed`` is the share of rows whose code, z_h decoded with the next label in place of the true one, is of
    another class than before by the model's own posterior, in percent.
    """
    classes, labels = trained.model.classes, torch.from_numpy(y)
    joint = trained.log_joint(x).double()
    given = joint - trained.model.log_label_prior  # log p(x | k) for every k
    log_prob = joint.logsumexp(1)
    own = given.gather(1, labels[:, None])[:, 0]
    others = (given.sum(1) - own) / (classes - 1)
    return {
        "label_nats": float((own - log_prob).mean()),
        "label_gap": float((own - others).mean()),
        "swap_changed": 100 * _swap_changed(trained, x, labels),
    }


def _swap_changed(trained: TrainedModel, x: np.ndarray, y: torch.Tensor) -> float:
    h, prior = trained.exact.conditional, trained.exact.log_label_prior
    changed = 0
    rows, size = trained.rows(x), rows_in_a_batch(trained.model.dimensions)
    for i in range(0, len(rows), size):
        z_f, labels = trained.exact.encode(rows[i : i + size]).z_f, y[i : i + size]
        swapped = h.decode(h.encode(z_f, labels), (labels + 1) % trained.model.classes)
        # z_aux and the determinant of f are the same for all classes: z_f alone decides.
        before, after = ((h.log_prob_all(z) + prior).argmax(1) for z in (z_f, swapped))
        changed += int((before != after).sum())
    return changed / len(rows)
