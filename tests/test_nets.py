import pytest
import torch

from scnf.nets import MLP, ConvResNet, ResidualMLP
from tests.helpers import randomize


def nets(context: int):
    return [
        (MLP(3, 5, [8, 8], context), (3,), (5,)),
        (ResidualMLP(3, 5, 8, 2, context), (3,), (5,)),
        (ConvResNet(3, 5, 8, 2, context), (3, 4, 6), (5, 4, 6)),
    ]


@pytest.mark.parametrize("index", [0, 1, 2], ids=["mlp", "residual", "resnet"])
@pytest.mark.parametrize("context", [0, 2])
def test_shapes_and_zero_start(index, context):
    net, shape, out_shape = nets(context)[index]
    x, given = torch.randn(4, *shape), torch.randn(4, context) if context else None
    assert torch.equal(net(x, given), torch.zeros(4, *out_shape))
    assert (randomize(net)(x, given).flatten(1).abs().sum(1) > 0).all()


@pytest.mark.parametrize("index", [0, 1, 2], ids=["mlp", "residual", "resnet"])
def test_output_depends_on_the_context_row_by_row(index):
    net, shape, _ = nets(2)[index]
    randomize(net)
    x, context = torch.randn(2, *shape), torch.randn(2, 2)
    changed = context.clone()
    changed[1] += 1
    before, after = net(x, context), net(x, changed)
    assert torch.equal(before[0], after[0])
    assert (before[1] != after[1]).all()


@pytest.mark.parametrize("index", [0, 1, 2], ids=["mlp", "residual", "resnet"])
def test_a_missing_context_is_refused(index):
    net, shape, _ = nets(2)[index]
    with pytest.raises(ValueError, match="without one"):
        net(torch.randn(2, *shape))


def test_an_mlp_without_hidden_layers_is_linear():
    net = randomize(MLP(2, 3, []))
    a, b = torch.randn(4, 2), torch.randn(4, 2)
    torch.testing.assert_close(net(a) + net(b), net(a + b) + net(torch.zeros(1, 2)))
