import pytest
import torch

from scnf.bijections import AffineMap, ChannelMask, Coupling
from scnf.nets import MLP, ConvResNet, GlowNet, ResidualMLP, set_limit, set_products
from tests.helpers import randomize


def nets(context: int):
    return [
        (MLP(3, 5, [8, 8], context), (3,), (5,)),
        (ResidualMLP(3, 5, 8, 2, context), (3,), (5,)),
        (ConvResNet(3, 5, 8, 2, context), (3, 4, 6), (5, 4, 6)),
        (GlowNet(3, 5, 8, context), (3, 4, 6), (5, 4, 6)),
    ]


@pytest.mark.parametrize("index", range(4), ids=["mlp", "residual", "resnet", "glow"])
@pytest.mark.parametrize("context", [0, 2])
def test_shapes_and_zero_start(index, context):
    net, shape, out_shape = nets(context)[index]
    x, given = torch.randn(4, *shape), torch.randn(4, context) if context else None
    assert torch.equal(net(x, given), torch.zeros(4, *out_shape))
    assert (randomize(net)(x, given).flatten(1).abs().sum(1) > 0).all()


@pytest.mark.parametrize("index", range(4), ids=["mlp", "residual", "resnet", "glow"])
def test_output_depends_on_the_context_row_by_row(index):
    net, shape, _ = nets(2)[index]
    randomize(net)
    x, context = torch.randn(2, *shape), torch.randn(2, 2)
    changed = context.clone()
    changed[1] += 1
    before, after = net(x, context), net(x, changed)
    assert torch.equal(before[0], after[0])
    assert (before[1] != after[1]).all()


@pytest.mark.parametrize("index", range(4), ids=["mlp", "residual", "resnet", "glow"])
def test_a_missing_context_is_refused(index):
    net, shape, _ = nets(2)[index]
    with pytest.raises(ValueError, match="without one"):
        net(torch.randn(2, *shape))


def test_an_mlp_without_hidden_layers_is_linear():
    net = randomize(MLP(2, 3, []))
    a, b = torch.randn(4, 2), torch.randn(4, 2)
    torch.testing.assert_close(net(a) + net(b), net(a + b) + net(torch.zeros(1, 2)))


@pytest.mark.parametrize("index", range(4), ids=["mlp", "residual", "resnet", "glow"])
@pytest.mark.parametrize("context", [0, 2])
def test_every_context_at_once_is_one_after_the_other(index, context):
    net, shape, _ = nets(context)[index]
    randomize(net).double()
    x, contexts = torch.randn(4, *shape).double(), torch.randn(3, 2).double()
    expected = torch.cat([net(x, each.expand(4, -1)) for each in contexts])
    torch.testing.assert_close(net(x, contexts, every=True), expected)


@pytest.mark.parametrize("index", range(4), ids=["mlp", "residual", "resnet", "glow"])
def test_the_first_layer_sees_a_row_once_for_all_contexts(index):
    net, shape, _ = nets(2)[index]
    first = net.hidden[0] if isinstance(net, MLP) else net.stem
    seen = []
    first.register_forward_hook(lambda module, inputs, output: seen.append(len(output)))
    assert len(net(torch.randn(4, *shape), torch.eye(2), every=True)) == 8
    assert seen == [4]


def test_an_mlp_without_hidden_layers_repeats_its_rows():
    net, x = randomize(MLP(2, 3, [])), torch.randn(4, 2)
    assert torch.equal(net(x, torch.eye(2), every=True), net(x).repeat(2, 1))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize(("make", "count"), [(lambda c: ConvResNet(c, 5, 8, 2), 6), (lambda c: GlowNet(c, 5, 8), 3)])
def test_convolutions_work_with_channels_last(channels, make, count):
    net, formats = make(channels), []
    for convolution in [module for module in net.modules() if isinstance(module, torch.nn.Conv2d)]:
        assert convolution.weight.is_contiguous(memory_format=torch.channels_last)
        convolution.register_forward_hook(
            lambda module, inputs, output: formats.append(output.is_contiguous(memory_format=torch.channels_last))
        )
    net(torch.randn(2, channels, 6, 6))
    assert all(formats)
    assert len(formats) == count


@pytest.mark.parametrize("index", range(4), ids=["mlp", "residual", "resnet", "glow"])
def test_products_of_16_bits_are_for_training_alone(index):
    net, shape, _ = nets(2)[index]
    randomize(net)
    x, context = torch.randn(4, *shape), torch.randn(4, 2)
    exact = net(x, context)
    set_products(net, torch.bfloat16)
    rounded = net(x, context)
    assert rounded.dtype == exact.dtype
    assert not torch.equal(rounded, exact)
    torch.testing.assert_close(rounded, exact, rtol=0.05, atol=0.05 * float(exact.detach().abs().max()))
    assert torch.equal(net.eval()(x, context), exact)
    set_products(net, None)
    assert torch.equal(net.train()(x, context), exact)


def test_a_flow_is_undone_whatever_its_nets_round():
    mask, affine = ChannelMask(4), AffineMap("tanh")
    layer = randomize(Coupling(mask, MLP(mask.seen_channels, affine.size * mask.moved_channels, [16]), affine))
    x = torch.randn(50, 4)
    exact = layer(x)[1]
    set_products(layer, torch.bfloat16)
    z, ladj = layer(x)
    assert not torch.allclose(ladj, exact, rtol=1e-5)
    back, ladj_back = layer.inverse(z)
    torch.testing.assert_close(back, x)
    torch.testing.assert_close(ladj_back, -ladj)


@pytest.mark.parametrize("make", [lambda: MLP(3, 4, [8], context_features=2), lambda: GlowNet(3, 4, 8, 2)])
def test_values_beyond_the_limit_are_taken_for_it_and_a_file_keeps_it(make):
    net, context = randomize(make()), torch.eye(2)
    x = torch.tensor([[0.5, -1.0, 1.9], [3.0, -70.0, 0.1]])
    x = x if isinstance(net, MLP) else x[:, :, None, None].expand(-1, -1, 4, 4)
    near = x.clamp(-2, 2)
    without, of_near = net(x, context), net(near, context)
    assert not torch.equal(without, of_near)
    older = {name: value for name, value in net.state_dict().items() if name != "limit"}
    set_limit(net, 2.0)
    assert torch.equal(net(x, context), of_near)
    again = make()
    again.load_state_dict(net.state_dict())
    assert torch.equal(again(x, context), of_near)
    again.load_state_dict(older)  # of a file from before there were limits
    assert torch.equal(again(x, context), without)


@pytest.mark.parametrize("net", [MLP(3, 4, [8]), ResidualMLP(3, 4, 8, 1), ConvResNet(3, 4, 8, 1)])
def test_other_nets_have_no_limit(net):
    set_limit(torch.nn.Sequential(randomize(net)), 2.0)
    x = torch.tensor([[3.0, -70.0, 0.1]])
    x = x[:, :, None, None].expand(-1, -1, 4, 4) if isinstance(net, ConvResNet) else x
    assert not torch.equal(net(x), net(x.clamp(-2, 2)))
