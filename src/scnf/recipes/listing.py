"""A model as a list of layers, in the words of the paper's Appendix E."""

from collections.abc import Iterator
from typing import NamedTuple, cast

from scnf.bijections import (
    ActNorm,
    Bijection,
    Chain,
    CheckerboardMask,
    ContextAffine,
    ContextLinear,
    Coupling,
    FactorOut,
    Flatten,
    InvertibleLinear,
    Logit,
    LULinear,
    Squeeze,
    TwoWayCoupling,
)
from scnf.bijections.base import Shape
from scnf.densities import ConditionalFlow
from scnf.model import SemiConditionalFlow


class Line(NamedTuple):
    """One layer and the shape of what leaves it; after a FactorOut that is what goes on."""

    text: str
    shape: Shape


class Listing(NamedTuple):
    """The layers of f and of h."""

    f: list[Line]
    h: list[Line]


def listing(model: SemiConditionalFlow) -> Listing:
    """Return the layers of a model; a density that is no flow is one line of h.

    Example:
        >>> from scnf.recipes import load_recipe
        >>> from scnf.recipes.build import build_model
        >>> model = build_model(load_recipe("paper-mnist-98").model, (1, 28, 28), classes=10)
        >>> listing(model).f[-1]
        Line(text='FactorOut([4, 7, 7] -> [2, 7, 7])', shape=(2, 7, 7))
    """
    conditional, shape = model.conditional, (model.conditional.features,)
    if isinstance(conditional, ConditionalFlow):
        h = list(_lines(conditional.flow, shape, "ConditionalCouplingLayer"))
    else:
        h = [Line(f"{type(conditional).__name__}({conditional.features})", shape)]
    return Listing(list(_lines(model.flow, model.shape, "CouplingLayer")), h)


def _lines(layer: Bijection, shape: Shape, coupling: str) -> Iterator[Line]:
    if isinstance(layer, Chain):
        for inner in layer.layers:
            yield from _lines(cast(Bijection, inner), shape, coupling)
            shape = cast(Bijection, inner).forward_shape(shape)
    elif isinstance(layer, FactorOut):
        yield Line(f"FactorOut({_as_image(shape)} -> {_as_image(layer.kept_shape)})", layer.kept_shape)
        yield from _lines(layer.inner, layer.kept_shape, coupling)
    elif not isinstance(layer, Flatten):
        yield Line(_name(layer, shape[0], coupling), layer.forward_shape(shape))


def _as_image(shape: Shape) -> list[int]:
    return [*shape, *[1] * (3 - len(shape))]


def _name(layer: Bijection, channels: int, coupling: str) -> str:
    match layer:
        case Coupling(mask=CheckerboardMask()):
            name = f"Masked{coupling}(mask=checkerboard)"
        case Coupling() | TwoWayCoupling():
            name = f"{coupling}(mask=channel)"
        case Squeeze(factor=factor):
            name = f"SpaceToDepth({factor}x{factor})"
        case Logit():
            name = "ToLogits()"
        case InvertibleLinear() | LULinear():
            name = f"InvertibleConv2d({channels})"
        case ActNorm() | ContextAffine() | ContextLinear():
            name = f"{type(layer).__name__}({channels})"
        case _:
            name = f"{type(layer).__name__}()"
    return name
