"""Every layer by name: how to build it, for which shape, and how exact it is."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor, nn

from scnf.bijections import (
    FFJORD,
    ActNorm,
    AffineMap,
    BackgroundLogit,
    Bijection,
    Chain,
    ChannelMask,
    CheckerboardMask,
    ContextAffine,
    ContextLinear,
    Coupling,
    Dynamics,
    ElementwiseMap,
    FactorOut,
    Flatten,
    Inverse,
    InvertibleLinear,
    Logit,
    LULinear,
    Mask,
    MLPDynamics,
    PrincipalComponents,
    SplineMap,
    Squeeze,
    Standardize,
    TwoWayCoupling,
)
from scnf.nets import MLP, Conv3x3, ConvResNet, ResidualMLP
from tests.helpers import randomize

VECTOR = (5,)
IMAGE = (2, 4, 4)
ODE = (3,)


class OpenDynamics(MLPDynamics):
    """The same field without its closed form: the divergence must come from autograd."""

    def with_divergence(self, context: Tensor | None = None) -> None:  # type: ignore[override]
        return None


class ConvDynamics(Dynamics):
    """A velocity field over images."""

    def __init__(self, channels: int):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, t: Tensor, x: Tensor, context: Tensor | None = None) -> Tensor:
        return torch.tanh(self.conv(x) + t)


@dataclass(frozen=True)
class Case:
    """One layer; ``ode_error`` is how far a solver may be off, 0 for layers that are exact."""

    make: Callable[[], Bijection]
    shape: tuple[int, ...]
    latent_shape: tuple[int, ...]
    context: int = 0
    ode_error: float = 0.0
    unit_interval: bool = False

    def layer(self, dtype: torch.dtype = torch.float64, seed: int = 1) -> Bijection:
        torch.manual_seed(seed)
        return randomize(self.make(), seed=seed).to(dtype)

    def inputs(self, rows: int = 3, dtype: torch.dtype = torch.float64, seed: int = 2) -> tuple[Tensor, Tensor | None]:
        generator = torch.Generator().manual_seed(seed)
        draw = torch.rand if self.unit_interval else torch.randn
        x = draw(rows, *self.shape, generator=generator, dtype=dtype)
        return x, torch.randn(rows, self.context, generator=generator, dtype=dtype) if self.context else None

    def tolerance(self, dtype: torch.dtype = torch.float64) -> float:
        return max(self.ode_error, 1e-10 if dtype == torch.float64 else 1e-5)


def coupling(mask: Mask, elementwise: ElementwiseMap, image: bool, context: int = 0) -> Coupling:
    out = elementwise.size * mask.moved_channels
    if image:
        return Coupling(mask, ConvResNet(mask.seen_channels, out, 6, 1, context), elementwise)
    return Coupling(mask, MLP(mask.seen_channels, out, [8, 8], context), elementwise)


def two_way(channels: int, elementwise: ElementwiseMap, image: bool, context: int = 0) -> TwoWayCoupling:
    def net(seen: int, moved: int) -> nn.Module:
        kind = ConvResNet if image else ResidualMLP
        return kind(seen, elementwise.size * moved, 6, 1, context)

    first = channels // 2
    return TwoWayCoupling(channels, net(first, channels - first), net(channels - first, first), elementwise)


def standardize(channels: int) -> Standardize:
    layer = Standardize(channels)
    layer.mean.copy_(torch.randn(channels))
    layer.std.copy_(torch.rand(channels) + 0.5)
    return layer


def principal_components() -> PrincipalComponents:
    # Taken from data in double precision: a rotation rounded to single precision is none to 1e-10.
    layer = PrincipalComponents(VECTOR[0]).double()
    layer.initialize(torch.randn(50, VECTOR[0], dtype=torch.float64) * torch.arange(1, 6) + 3)
    return layer


def _both(make: Callable[[int], Bijection], name: str, context: int = 0) -> dict[str, Case]:
    """Return a layer over channels as a case for vectors and one for images."""
    return {
        f"{name}-vector": Case(lambda: make(VECTOR[0]), VECTOR, VECTOR, context),
        f"{name}-image": Case(lambda: make(IMAGE[0]), IMAGE, IMAGE, context),
    }


def _couplings() -> dict[str, Case]:
    masks: dict[str, tuple[Callable[[], Mask], tuple[int, ...]]] = {
        "channel-vector": (lambda: ChannelMask(5), VECTOR),
        "channel-flip-vector": (lambda: ChannelMask(5, flip=True), VECTOR),
        "channel-image": (lambda: ChannelMask(2), IMAGE),
        "checkerboard-image": (lambda: CheckerboardMask(IMAGE), IMAGE),
        "checkerboard-flip-image": (lambda: CheckerboardMask(IMAGE, flip=True), IMAGE),
    }
    maps: dict[str, Callable[[], ElementwiseMap]] = {
        "sigmoid": lambda: AffineMap("sigmoid"),
        "exp": lambda: AffineMap("exp"),
        "tanh": lambda: AffineMap("tanh"),
        "spline": lambda: SplineMap(bins=4, bound=3.0),
    }

    def case(mask: str, elementwise: str, context: int) -> Case:
        make_mask, shape = masks[mask]
        return Case(lambda: coupling(make_mask(), maps[elementwise](), shape == IMAGE, context), shape, shape, context)

    def two_way_case(shape: tuple[int, ...], elementwise: str, context: int) -> Case:
        make = maps[elementwise]
        return Case(lambda: two_way(shape[0], make(), shape == IMAGE, context), shape, shape, context)

    return {
        f"coupling-{mask}-{elementwise}{'-context' * bool(context)}": case(mask, elementwise, context)
        for mask, elementwise, context in product(masks, maps, (0, 3))
    } | {
        f"two-way-{'image' if shape == IMAGE else 'vector'}-{elementwise}{'-context' * bool(context)}": two_way_case(
            shape, elementwise, context
        )
        for shape, elementwise, context in product((VECTOR, IMAGE), ("tanh", "spline"), (0, 3))
    }


def _nested_image() -> Bijection:
    deep = Chain(Squeeze(2), ActNorm(4), coupling(ChannelMask(4), AffineMap(), image=True), Flatten((4, 2, 2)))
    inner = Chain(LULinear(4), FactorOut(deep, (4, 4, 4), keep=1))
    return Chain(Squeeze(2), InvertibleLinear(8), FactorOut(inner, (8, 4, 4), keep=4))


def _nested_vector() -> Bijection:
    step = coupling(ChannelMask(3), AffineMap(), image=False, context=3)
    deep = Chain(ActNorm(3), FactorOut(ContextAffine(1, 3), (3,), keep=1))
    return Chain(ActNorm(5), FactorOut(Chain(step, deep), (5,), keep=3))


def _ffjord(dynamics: Callable[[], Dynamics], **settings: object) -> Callable[[], FFJORD]:
    return lambda: FFJORD(dynamics(), **settings)  # type: ignore[arg-type]


def _continuous() -> dict[str, Case]:
    fixed = {"solver": "rk4", "steps": 8}
    adaptive = {"solver": "dopri5", "rtol": 1e-6, "atol": 1e-6}

    def mlp(context: int = 0) -> Callable[[], Dynamics]:
        return lambda: MLPDynamics(3, 8, context)

    def opened(context: int = 0) -> Callable[[], Dynamics]:
        return lambda: OpenDynamics(3, 8, context)

    error = 1e-4
    return {
        "ffjord-closed-form-rk4": Case(_ffjord(mlp(), **fixed), ODE, ODE, 0, error),
        "ffjord-closed-form-rk4-context": Case(_ffjord(mlp(3), **fixed), ODE, ODE, 3, error),
        "ffjord-closed-form-dopri5": Case(_ffjord(mlp(), **adaptive), ODE, ODE, 0, error),
        "ffjord-exact-rk4-context": Case(_ffjord(opened(3), trace="exact", **fixed), ODE, ODE, 3, error),
        "ffjord-exact-dopri5": Case(_ffjord(opened(), trace="exact", **adaptive), ODE, ODE, 0, error),
        "ffjord-adjoint-rk4-context": Case(_ffjord(mlp(3), adjoint=True, **fixed), ODE, ODE, 3, error),
        "ffjord-adjoint-exact-rk4": Case(_ffjord(opened(), adjoint=True, **fixed), ODE, ODE, 0, error),
        "ffjord-image": Case(
            _ffjord(lambda: ConvDynamics(1), trace="exact", time=0.5, **fixed), (1, 2, 2), (1, 2, 2), 0, error
        ),
    }


CASES: dict[str, Case] = {
    **_both(ActNorm, "actnorm"),
    **_both(lambda channels: ContextAffine(channels, 3), "context-affine", context=3),
    "context-linear": Case(lambda: ContextLinear(5, 3), VECTOR, VECTOR, 3),
    **_both(standardize, "standardize"),
    "principal-components": Case(principal_components, VECTOR, VECTOR),
    **_both(InvertibleLinear, "linear-full"),
    **_both(LULinear, "linear-lu"),
    **_both(lambda channels: Inverse(Chain(ActNorm(channels), LULinear(channels))), "inverse"),
    **_couplings(),
    **_continuous(),
    "inverse-context": Case(lambda: Inverse(ContextAffine(5, 3)), VECTOR, VECTOR, 3),
    "logit-vector": Case(lambda: Logit(0.05), VECTOR, VECTOR, unit_interval=True),
    "logit-image": Case(lambda: Logit(1e-3), IMAGE, IMAGE, unit_interval=True),
    # Half of the draws fall into the first of two levels.
    "background-logit-vector": Case(lambda: BackgroundLogit(2), VECTOR, VECTOR, unit_interval=True),
    "background-logit-image": Case(lambda: BackgroundLogit(3, 1e-3), IMAGE, IMAGE, unit_interval=True),
    "squeeze": Case(lambda: Squeeze(2), IMAGE, (8, 2, 2)),
    "squeeze-3": Case(lambda: Squeeze(3), (2, 3, 6), (18, 1, 2)),
    "flatten": Case(lambda: Flatten(IMAGE), IMAGE, (32,)),
    "chain-empty": Case(Chain, VECTOR, VECTOR),
    "chain-vector-context": Case(
        lambda: Chain(
            ActNorm(5),
            InvertibleLinear(5),
            coupling(ChannelMask(5), AffineMap(), False, 3),
            coupling(ChannelMask(5, True), SplineMap(4), False, 3),
        ),
        VECTOR,
        VECTOR,
        3,
    ),
    "chain-image": Case(
        lambda: Chain(Logit(), Squeeze(), ActNorm(8), LULinear(8), coupling(ChannelMask(8), AffineMap(), True)),
        IMAGE,
        (8, 2, 2),
        unit_interval=True,
    ),
    "factor-out-vector": Case(lambda: FactorOut(ActNorm(2), VECTOR, keep=2), VECTOR, VECTOR),
    "factor-out-image": Case(lambda: FactorOut(ActNorm(1), IMAGE, keep=1), IMAGE, (32,)),
    "factor-out-split-prior": Case(
        lambda: FactorOut(ActNorm(1), (3, 4, 4), keep=1, conditioner=Conv3x3(1, 4)), (3, 4, 4), (48,)
    ),
    "factor-out-split-prior-vector": Case(
        lambda: FactorOut(ActNorm(2), VECTOR, keep=2, conditioner=MLP(2, 6, [4])), VECTOR, VECTOR
    ),
    "factor-out-nested-image": Case(_nested_image, (2, 8, 8), (128,)),
    "factor-out-nested-vector-context": Case(_nested_vector, VECTOR, VECTOR, 3),
}
