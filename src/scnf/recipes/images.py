"""Multiscale flows on images, from a recipe's f to layers."""

import math

from scnf.bijections import (
    ActNorm,
    AffineMap,
    BackgroundLogit,
    Bijection,
    Chain,
    ChannelMask,
    CheckerboardMask,
    Coupling,
    FactorOut,
    Flatten,
    Logit,
    Squeeze,
    TwoWayCoupling,
)
from scnf.bijections.base import Shape
from scnf.bijections.linear import make_linear
from scnf.nets import Conv3x3, ConvResNet, GlowNet
from scnf.recipes.schema import LevelSpec, ModelSpec, MultiscaleSpec


def image_flow(spec: ModelSpec, f: MultiscaleSpec, shape: Shape) -> Bijection:
    """Return f for images: the pixels' map to the real line, then the levels, the deepest components last."""
    if len(shape) != 3:
        raise ValueError(f"a multiscale flow takes images [channels, height, width], got shape {shape}")
    if spec.pixels == "background":
        to_reals: Bijection = BackgroundLogit(spec.pixel_levels, spec.logit_alpha)
    else:
        to_reals = Logit(spec.logit_alpha)
    return Chain(to_reals, *image_steps(f, shape))


def image_steps(f: MultiscaleSpec, shape: Shape) -> list[Bijection]:
    """Return the layers of f's levels, on pixels that are real numbers already."""
    return _layers(f, f.levels, shape)


def image_features(f: MultiscaleSpec, shape: Shape) -> int:
    """Return how many components of an image reach z_f: all that the last level keeps."""
    for level in f.levels:
        shape = Squeeze(2).forward_shape(shape) if level.squeeze else shape
        shape = (level.keep or shape[0], *shape[1:])
    return math.prod(shape)


def _layers(f: MultiscaleSpec, levels: tuple[LevelSpec, ...], shape: Shape) -> list[Bijection]:
    if not levels:
        return [Flatten(shape)]
    level, *deeper = levels
    layers: list[Bijection] = []
    for i in range(level.checkerboard):
        layers += _step(f, _checkerboard_coupling(f, level, shape, flip=bool(i % 2)), shape[0])
    if level.squeeze:
        squeeze = Squeeze(2)
        layers.append(squeeze)
        shape = squeeze.forward_shape(shape)
    for i in range(level.channel):
        layers += _step(f, _channel_coupling(f, level, shape[0], flip=bool(i % 2)), shape[0])
    keep = level.keep or shape[0]
    if keep == shape[0]:
        return [*layers, *_layers(f, tuple(deeper), shape)]
    inner = Chain(*_layers(f, tuple(deeper), (keep, *shape[1:])))
    # FactorOut itself refuses to keep more than there are.
    conditioner = Conv3x3(keep, 2 * (shape[0] - keep)) if f.split_prior and keep < shape[0] else None
    return [*layers, FactorOut(inner, shape, keep, conditioner)]


def _step(f: MultiscaleSpec, coupling: Bijection, channels: int) -> list[Bijection]:
    norm, linear = ActNorm(channels), make_linear(f.linear, channels)
    return [norm, linear, coupling] if f.order == "actnorm-first" else [linear, coupling, norm]


def _net(f: MultiscaleSpec, level: LevelSpec, seen: int, moved: int) -> ConvResNet | GlowNet:
    hidden, outputs = level.hidden or f.hidden, AffineMap.size * moved
    if f.net == "glow":
        return GlowNet(seen, outputs, hidden)
    return ConvResNet(seen, outputs, hidden, f.blocks if level.blocks is None else level.blocks)


def _checkerboard_coupling(f: MultiscaleSpec, level: LevelSpec, shape: Shape, flip: bool) -> Bijection:
    net = _net(f, level, shape[0], shape[0])
    return Coupling(CheckerboardMask(shape, flip), net, AffineMap(f.scale, f.bound))


def _channel_coupling(f: MultiscaleSpec, level: LevelSpec, channels: int, flip: bool) -> Bijection:
    elementwise = AffineMap(f.scale, f.bound)
    if f.halves == "both":
        first, second = ChannelMask(channels).sizes
        return TwoWayCoupling(channels, _net(f, level, first, second), _net(f, level, second, first), elementwise)
    mask = ChannelMask(channels, flip)
    return Coupling(mask, _net(f, level, mask.seen_channels, mask.moved_channels), elementwise)
