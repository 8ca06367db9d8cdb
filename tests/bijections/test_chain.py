import pytest
import torch

from scnf.bijections import ActNorm, Chain, ContextAffine, Inverse, InvertibleLinear, LULinear
from tests.helpers import randomize


@pytest.mark.parametrize("linear", [InvertibleLinear, LULinear])
@pytest.mark.parametrize("shape", [(3,), (3, 4, 2), (1, 4, 2)], ids=["vector", "image", "one-channel"])
def test_actnorm_and_linear_map_in_one_are_both_in_turn(linear, shape):
    norm, matrix = randomize(ActNorm(shape[0])).double(), randomize(linear(shape[0])).double()
    x = torch.randn(5, *shape).double()
    between, norm_ladj = norm(x)
    expected, matrix_ladj = matrix(between)
    for layers in ([norm, matrix], [Inverse(Inverse(norm)), matrix]):
        z, ladj = Chain(*layers)(x)
        torch.testing.assert_close(z, expected)
        torch.testing.assert_close(ladj, norm_ladj + matrix_ladj)


def test_neighbours_of_all_kinds_keep_their_order():
    layers = [ActNorm(3), ActNorm(3), InvertibleLinear(3), LULinear(3), ActNorm(3), LULinear(3), ActNorm(3)]
    flow = randomize(Chain(*layers)).double()
    x = torch.randn(4, 3).double()
    z, total = x, torch.zeros(4).double()
    for layer in layers:
        z, ladj = layer(z)
        total = total + ladj
    torch.testing.assert_close(flow(x), (z, total))


def test_what_comes_before_the_first_context_is_computed_once():
    seen = []

    class Spy(InvertibleLinear):
        def forward_after(self, norm, x):
            seen.append(len(x))
            return super().forward_after(norm, x)

    step = [ActNorm(3), Spy(3), ContextAffine(3, 2)]
    flow = Chain(Chain(*step), Chain(ActNorm(3), Spy(3)))
    flow.forward_all(torch.randn(5, 3), torch.eye(2))
    assert seen == [5, 10]
