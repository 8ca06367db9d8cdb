"""What every invertible layer owes, checked for all of them."""

import inspect

import pytest
import torch
from torch import Tensor

import scnf.bijections
from scnf.bijections import Bijection
from tests.bijections.cases import CASES, Case
from tests.helpers import weights_of

DTYPES = {"float32": torch.float32, "float64": torch.float64}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
every_dtype = pytest.mark.parametrize("dtype", DTYPES.values(), ids=DTYPES.keys())
with_context = pytest.mark.parametrize(
    "case", [case for case in CASES.values() if case.context], ids=[name for name in CASES if CASES[name].context]
)
without_context = pytest.mark.parametrize(
    "case",
    [case for case in CASES.values() if not case.context],
    ids=[name for name in CASES if not CASES[name].context],
)


def close(actual: Tensor, expected: Tensor, tolerance: float) -> None:
    torch.testing.assert_close(actual, expected, rtol=tolerance, atol=tolerance)


def log_det_by_autograd(function, x: Tensor, context: Tensor | None) -> Tensor:
    """Return log|det| of the full Jacobian of each row, one at a time."""
    found = []
    for row in range(len(x)):
        given = None if context is None else context[row : row + 1]
        jacobian = torch.autograd.functional.jacobian(lambda r, c=given: function(r, c)[0].flatten(), x[row : row + 1])
        found.append(torch.linalg.slogdet(jacobian.flatten(1)).logabsdet)
    return torch.stack(found)


@every_dtype
@every_case
def test_round_trip(case: Case, dtype: torch.dtype):
    layer, (x, context) = case.layer(dtype), case.inputs(16, dtype)
    z, ladj = layer(x, context)
    back, ladj_back = layer.inverse(z, context)
    close(back, x, case.tolerance(dtype))
    # A sum of D terms of float32 carries D roundings.
    close(ladj_back, -ladj, case.tolerance(dtype) * (1 if dtype == torch.float64 else 10))


@every_case
def test_log_det_is_that_of_the_jacobian(case: Case):
    layer, (x, context) = case.layer(), case.inputs(2)
    z, ladj = layer(x, context)
    close(ladj, log_det_by_autograd(layer, x, context), case.tolerance())
    z = z.detach()
    close(layer.inverse(z, context)[1], log_det_by_autograd(layer.inverse, z, context), case.tolerance())


@every_case
def test_a_batch_is_its_rows_stacked(case: Case):
    layer, (x, context) = case.layer(), case.inputs(4)
    for function in (layer, layer.inverse):
        x = x.reshape(4, *(case.shape if function is layer else case.latent_shape))
        whole = function(x, context)
        single = [function(x[i : i + 1], None if context is None else context[i : i + 1]) for i in range(len(x))]
        assert all(one[1].shape == (1,) for one in single)
        close(torch.cat([one[0] for one in single]), whole[0], case.tolerance())
        close(torch.cat([one[1] for one in single]), whole[1], case.tolerance())
        x = whole[0].detach()


@every_dtype
@every_case
def test_ladj_is_a_tensor_of_its_own(case: Case, dtype: torch.dtype):
    layer, (x, context) = case.layer(dtype), case.inputs(3, dtype)
    before = weights_of(layer)
    with torch.no_grad():
        z = layer(x, context)[0]
        for function, value in ((layer, x), (layer.inverse, z)):
            ladj = function(value, context)[1]
            assert ladj.shape == (3,)
            assert ladj.dtype == dtype
            expected = ladj.clone()
            ladj += torch.arange(1, 4)
            assert torch.equal(function(value, context)[1], expected)
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())


@every_case
def test_forward_shape(case: Case):
    layer, (x, context) = case.layer(), case.inputs()
    assert layer.forward_shape(case.shape) == case.latent_shape
    assert layer(x, context)[0].shape == (len(x), *case.latent_shape)


@every_case
def test_every_parameter_gets_a_gradient(case: Case):
    layer, (x, context) = case.layer(), case.inputs()
    z = layer(x, context)[0].detach()
    for function, value in ((layer, x), (layer.inverse, z)):
        layer.zero_grad()
        out, ladj = function(value, context)
        weights = torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)
        total = (out * weights).sum() + out.square().sum() + ladj.square().sum()
        if any(True for _ in layer.parameters()):
            total.backward()
        for name, parameter in layer.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
            assert parameter.grad.abs().sum() > 0, name


@every_case
def test_gradient_reaches_the_data(case: Case):
    layer, (x, context) = case.layer(), case.inputs()
    z = layer(x.requires_grad_(), context)[0]
    (gradient,) = torch.autograd.grad(z.square().sum(), x)
    assert (gradient != 0).all()


@every_case
def test_state_dict_round_trip(case: Case):
    first, second = case.layer(seed=1), case.layer(seed=5)
    x, context = case.inputs()
    second.load_state_dict(first.state_dict())
    for a, b in zip(first(x, context), second(x, context), strict=True):
        assert torch.equal(a, b)


@every_case
def test_calls_leave_no_trace(case: Case):
    layer, (x, context) = case.layer(), case.inputs()
    before, expected = weights_of(layer), layer(x, context)
    layer.inverse(expected[0], context)
    layer(*case.inputs(rows=7, seed=9))
    assert all(torch.equal(value, before[name]) for name, value in layer.state_dict().items())
    for again, once in zip(layer(x, context), expected, strict=True):
        assert torch.equal(again, once)


@with_context
def test_output_depends_on_the_context(case: Case):
    layer, (x, context) = case.layer(), case.inputs()
    assert context is not None
    z, ladj = layer(x, context)
    other_z, other_ladj = layer(x, context + 1)
    assert ((z - other_z).flatten(1).abs().amax(1) > 1e-3).all()
    assert ((ladj - other_ladj).abs() > 1e-6).all()


@every_case
def test_all_contexts_at_once_are_one_after_the_other(case: Case):
    layer, (x, _) = case.layer(), case.inputs(4)
    contexts = torch.randn(3, case.context or 2, dtype=x.dtype)
    z, ladj = layer.forward_all(x, contexts)
    single = [layer(x, context.expand(len(x), -1)) for context in contexts]
    close(z, torch.cat([one[0] for one in single]), case.tolerance())
    close(ladj, torch.cat([one[1] for one in single]), case.tolerance())


@with_context
def test_a_context_may_serve_a_block_of_rows(case: Case):
    layer, (x, contexts) = case.layer(), case.inputs(6)
    assert contexts is not None
    contexts = contexts[:3]
    for function in (layer, layer.inverse):
        expected = function(x, contexts.repeat_interleave(2, dim=0))
        for actual, row_by_row in zip(function(x, contexts), expected, strict=True):
            close(actual, row_by_row, case.tolerance())
        x = expected[0].detach()


@with_context
def test_a_missing_context_is_refused(case: Case):
    layer, (x, _) = case.layer(), case.inputs()
    with pytest.raises(ValueError, match="context"):
        layer(x)


@without_context
def test_other_layers_ignore_a_context(case: Case):
    layer, (x, _) = case.layer(), case.inputs()
    for given, plain in zip(layer(x, torch.randn(len(x), 3, dtype=x.dtype)), layer(x), strict=True):
        assert torch.equal(given, plain)


def test_registry_covers_every_public_class():
    reached = {type(module) for case in CASES.values() for module in case.layer().modules()}
    for name in scnf.bijections.__all__:
        public = getattr(scnf.bijections, name)
        if inspect.isabstract(public):
            assert any(issubclass(cls, public) for cls in reached), f"no case uses a {name}"
        else:
            assert public in reached, f"no case builds {name}: add one to cases.py"


def test_every_layer_of_the_package_is_public():
    def below(cls: type) -> set[type]:
        return {sub for direct in cls.__subclasses__() for sub in {direct, *below(direct)}}

    layers = {cls.__name__ for cls in below(Bijection) if cls.__module__.startswith("scnf.bijections.")}
    assert layers <= set(scnf.bijections.__all__)
