"""A peer: normflows' Glow with the widths of a recipe, trained beside it."""

import importlib.util
import warnings
from typing import Any

import torch
from torch import Tensor, nn

from scnf.benchmarks.workload import Workload, images
from scnf.recipes import load_recipe
from scnf.recipes.schema import MultiscaleSpec

NAME = "normflows Glow"
MISSING = "normflows is not installed, so its Glow was not measured: install scnf with its extra `bench`"


def is_installed() -> bool:
    """Tell whether normflows is there."""
    return importlib.util.find_spec("normflows") is not None


def glow_workload(recipe_name: str, batch_size: int) -> Workload | None:
    """Return normflows' Glow with a recipe's steps and hidden widths, all channel-wise after the squeezes.

    Its nets are those of normflows (3×3, 1×1, 3×3 convolutions), without residual blocks: what compares is the share of
    the roofline of each one's own convolutions. None for a recipe that is no multiscale flow.
    """
    f = load_recipe(recipe_name).model.f
    if not isinstance(f, MultiscaleSpec):
        return None
    data = images(rows=batch_size, labelled=batch_size)
    x = data.continuous()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "torch.lu is deprecated")  # that is normflows' affair
        model = _glow(_widths_after_each_squeeze(f), tuple(x.shape[1:]))
    model.log_prob(x, None)  # normflows takes ActNorm's start from the first batch
    optimizer = torch.optim.Adamax(model.parameters(), lr=1e-4)

    def train() -> None:
        loss = -model.log_prob(x, None).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1e9)
        optimizer.step()

    @torch.inference_mode()
    def infer() -> Tensor:
        return model.log_prob(x, None)

    return Workload(model, x, train, infer)


def _widths_after_each_squeeze(f: MultiscaleSpec) -> list[list[int]]:
    """Return the width of each step's nets, from the image down."""
    widths: list[list[int]] = []
    for level in f.levels:
        if level.squeeze or not widths:
            widths.append([])
        widths[-1] += [level.hidden or f.hidden] * (level.checkerboard + level.channel)
    return widths


def _glow(widths: list[list[int]], shape: tuple[int, ...]) -> Any:
    """Return the multiscale Glow of normflows' own example; its flows are listed from the latents to the data."""
    import normflows as nf  # noqa: PLC0415 (an extra)

    channels, height, width = shape
    levels = len(widths)
    bases, merges, flows = [], [], []
    for i, of_level in enumerate(reversed(widths)):
        depth = levels - i  # squeezes from the data to here
        inside = channels * 2 ** (depth + 1)
        blocks = [nf.flows.GlowBlock(inside, width, split_mode="channel", scale=True) for width in reversed(of_level)]
        flows.append([*blocks, nf.flows.Squeeze()])
        if i:
            merges.append(nf.flows.Merge())
        latent = inside // 2 if i else inside
        bases.append(nf.distributions.DiagGaussian((latent, height // 2**depth, width // 2**depth)))
    return nf.MultiscaleFlow(bases, flows, merges, nf.transforms.Logit(0.05), class_cond=False)
