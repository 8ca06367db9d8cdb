"""Invertibility and log-determinants for random shapes, seeds and batch sizes."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from scnf.bijections import (
    ActNorm,
    AffineMap,
    Bijection,
    Chain,
    ChannelMask,
    CheckerboardMask,
    ContextAffine,
    FactorOut,
    Flatten,
    InvertibleLinear,
    Logit,
    LULinear,
    SplineMap,
    Squeeze,
)
from tests.bijections.cases import coupling
from tests.helpers import randomize

seeds = st.integers(0, 10_000)
maps = st.sampled_from(["sigmoid", "exp", "tanh", "spline"])


def check(layer: Bijection, x: torch.Tensor, context: torch.Tensor | None = None) -> None:
    z, ladj = layer(x, context)
    back, ladj_back = layer.inverse(z, context)
    assert z.shape == (len(x), *layer.forward_shape(tuple(x.shape[1:])))
    torch.testing.assert_close(back, x, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(ladj_back, -ladj, rtol=1e-9, atol=1e-9)
    one = None if context is None else context[:1]
    jacobian = torch.autograd.functional.jacobian(lambda row: layer(row, one)[0].flatten(), x[:1])
    torch.testing.assert_close(torch.linalg.slogdet(jacobian.flatten(1)).logabsdet, ladj[0], rtol=1e-8, atol=1e-8)


@given(
    features=st.integers(2, 7),
    rows=st.integers(1, 4),
    context=st.integers(0, 3),
    flip=st.booleans(),
    name=maps,
    seed=seeds,
)
def test_vector_step(features, rows, context, flip, name, seed):
    torch.manual_seed(seed)
    elementwise = SplineMap(bins=3) if name == "spline" else AffineMap(name)
    layers = [ActNorm(features), InvertibleLinear(features), LULinear(features)]
    layers.append(coupling(ChannelMask(features, flip), elementwise, image=False, context=context))
    if context:
        layers.append(ContextAffine(features, context))
    layer = randomize(Chain(*layers), seed=seed).double()
    given_context = torch.randn(rows, context).double() if context else None
    check(layer, torch.randn(rows, features).double(), given_context)


@given(
    channels=st.integers(1, 3),
    half_height=st.integers(1, 3),
    half_width=st.integers(1, 3),
    rows=st.integers(1, 3),
    flip=st.booleans(),
    name=maps,
    data=st.data(),
    seed=seeds,
)
def test_image_flow(channels, half_height, half_width, rows, flip, name, data, seed):
    torch.manual_seed(seed)
    shape, squeezed = (channels, 2 * half_height, 2 * half_width), (4 * channels, half_height, half_width)
    keep = data.draw(st.integers(1, 4 * channels - 1))
    elementwise = SplineMap(bins=3) if name == "spline" else AffineMap(name)
    layer = Chain(
        Logit(),
        coupling(CheckerboardMask(shape, flip), elementwise, image=True),
        Squeeze(),
        ActNorm(4 * channels),
        LULinear(4 * channels),
        coupling(ChannelMask(4 * channels, flip), elementwise, image=True),
        FactorOut(Chain(ActNorm(keep), Flatten((keep, *squeezed[1:]))), squeezed, keep),
    )
    check(randomize(layer, seed=seed).double(), torch.rand(rows, *shape).double())
