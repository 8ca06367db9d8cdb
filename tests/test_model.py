import pytest
import torch

from scnf.bijections import ActNorm, Chain, FactorOut, InvertibleLinear
from scnf.densities import GaussianPerClass
from scnf.model import SemiConditionalFlow
from scnf.nets import set_limit
from scnf.recipes.build import build_model
from scnf.recipes.schema import ModelSpec
from tests.helpers import randomize

COUPLING = {"kind": "coupling", "steps": 2, "hidden": [8]}
MULTISCALE = {"kind": "multiscale", "levels": [{"channel": 2, "keep": 2}, {"channel": 2, "keep": 4}], "hidden": 8}
SPECS = {
    "vector": (COUPLING, COUPLING, {}, (4,)),
    "vector-z_f": (COUPLING, COUPLING, {"z_f": 2}, (5,)),
    "vector-ffjord": (
        {"kind": "ffjord", "hidden": 8, "solver": "rk4", "solver_steps": 16},
        {"kind": "gaussian"},
        {},
        (3,),
    ),
    "image": (MULTISCALE, COUPLING, {}, (1, 8, 8)),
    "image-gaussian": (MULTISCALE, {"kind": "gaussian"}, {}, (2, 4, 4)),
}


def make(name: str, classes: int = 3) -> SemiConditionalFlow:
    f, h, more, shape = SPECS[name]
    spec = ModelSpec.model_validate({"f": f, "h": h, **more})
    return randomize(build_model(spec, shape, classes)).double()


@pytest.fixture(params=SPECS)
def model(request) -> SemiConditionalFlow:
    return make(request.param)


@pytest.fixture
def x(model) -> torch.Tensor:
    return torch.rand(6, *model.shape).double()


def test_log_joint_holds_every_class(model, x):
    assert model.log_joint(x).shape == (6, 3)
    assert torch.equal(model(x), model.log_joint(x))


@pytest.mark.parametrize("labelled", [1, 4, 6])
def test_known_labels_leave_the_likelihood_and_its_gradient_as_they_are(model, x, labelled):
    y = torch.tensor([2, 0, 1, 1, 2, 0])[:labelled]

    def gradients(log_joint):
        likelihood = log_joint[:labelled].gather(1, y[:, None]).sum() + log_joint[labelled:].logsumexp(1).sum()
        return torch.autograd.grad(likelihood, list(model.parameters()), allow_unused=True)

    for every, own in zip(gradients(model(x)), gradients(model(x, y)), strict=True):
        torch.testing.assert_close(own, every)
    expected = model(x)
    expected[:labelled] = expected[:labelled].gather(1, y[:, None])
    torch.testing.assert_close(model(x, y), expected)


def test_a_limit_of_the_nets_leaves_h_invertible_and_an_f_of_vectors_as_it_is():
    model = make("vector")
    before = model.encode(x := torch.randn(50, 4).double())
    set_limit(model, 0.5)
    after = model.encode(x)
    assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
    far, y = 1e4 * torch.randn(50, 4).double(), torch.arange(50) % 3
    h = model.conditional
    torch.testing.assert_close(h.decode(h.encode(far, y), y), far)


def test_marginal_joint_and_posterior_agree(model, x):
    log_joint = model.log_joint(x)
    torch.testing.assert_close(model.log_prob(x), log_joint.exp().sum(1).log())
    y = torch.tensor([0, 1, 2, 0, 1, 2])
    torch.testing.assert_close(model.log_prob(x, y) + model.log_label_prior[y], log_joint[torch.arange(6), y])
    posterior = model.log_posterior(x).exp()
    torch.testing.assert_close(posterior.sum(1), torch.ones(6).double())
    torch.testing.assert_close(posterior.log() + model.log_prob(x)[:, None], log_joint)


def test_encode_and_decode_undo_each_other(model, x):
    z_f, z_aux, ladj = model.encode(x)
    assert z_f.shape == (6, model.conditional.features)
    assert z_aux.shape == (6, model.dimensions - model.conditional.features)
    assert ladj.shape == (6,)
    torch.testing.assert_close(model.decode(z_f, z_aux), x, rtol=1e-5, atol=1e-5)


def test_obfuscate_and_reveal_undo_each_other(model, x):
    y = torch.tensor([0, 1, 2, 0, 1, 2])
    z_h, z_aux = model.obfuscate(x, y), model.encode(x).z_aux
    torch.testing.assert_close(model.reveal(z_h, y, z_aux), x, rtol=1e-5, atol=1e-5)
    other = model.reveal(z_h, (y + 1) % 3, z_aux)
    assert ((other - x).flatten(1).abs().amax(1) > 1e-3).all()
    torch.testing.assert_close(model.reveal(z_h, y), model.reveal(z_h, y, torch.zeros_like(z_aux)))


def test_one_row_is_a_batch(model, x):
    torch.testing.assert_close(model.log_joint(x[:1]), model.log_joint(x)[:1])


def test_sample(model):
    x, y = model.sample(7)
    assert x.shape == (7, *model.shape)
    assert x.dtype == torch.float64
    assert torch.isfinite(x).all()
    assert y.shape == (7,)
    assert not x.requires_grad
    assert model.sample(4, y=2)[1].tolist() == [2, 2, 2, 2]
    assert model.sample(3, y=torch.tensor([2, 0, 1]))[1].tolist() == [2, 0, 1]
    with pytest.raises(ValueError, match="each of 3 rows"):
        model.sample(3, y=torch.tensor([0, 1]))


def test_sampling_without_temperature_gives_the_centre_of_the_class(model):
    y = torch.tensor([0, 1, 2])
    features = model.conditional.features
    centre = model.reveal(torch.zeros(3, features).double(), y)
    torch.testing.assert_close(model.sample(3, y, temperature=0.0)[0], centre)


def test_every_parameter_gets_a_gradient(model, x):
    model.log_joint(x).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


@pytest.mark.parametrize("name", ["vector", "image"])
@pytest.mark.parametrize("classes", [2, 50])
def test_f_runs_once_whatever_the_number_of_classes(name, classes):
    model, calls = make(name, classes), []
    model.flow.register_forward_hook(lambda module, inputs, output: calls.append(len(inputs[0])))
    assert model.log_joint(torch.rand(4, *model.shape).double()).shape == (4, classes)
    assert calls == [4]


def test_latents_are_ordered_aux_first():
    deep = ActNorm(1)
    with torch.no_grad():
        deep.bias.fill_(100.0)
    flow = FactorOut(FactorOut(deep, (2,), keep=1), (4,), keep=2)
    model = SemiConditionalFlow(flow, GaussianPerClass(1, 2), (4,))
    z_f, z_aux, _ = model.encode(torch.tensor([[1.0, 2.0, 3.0, 4.0]]))
    assert z_f.tolist() == [[104.0]]
    assert z_aux.tolist() == [[1.0, 2.0, 3.0]]


def test_initialize_gives_h_the_latents_of_f():
    model = SemiConditionalFlow(Chain(ActNorm(3), InvertibleLinear(3)), GaussianPerClass(2, 2), (3,))
    x, y = 4 + torch.randn(50, 3), torch.tensor([0, 1] * 5 + [-1] * 40)
    model.initialize(x, y)
    with torch.no_grad():
        z_f = model.encode(x).z_f
    torch.testing.assert_close(model.conditional.mean[1].detach(), z_f[y == 1].mean(0), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("prior", "expected"),
    [
        (None, [0.25] * 4),
        (torch.tensor([1, 2, 3, 4]), [0.1, 0.2, 0.3, 0.4]),
        ([2.0, 2.0, 2.0, 4.0], [0.2, 0.2, 0.2, 0.4]),
    ],
)
def test_label_prior_is_normalised(prior, expected):
    model = SemiConditionalFlow(ActNorm(2), GaussianPerClass(2, 4), (2,), prior)
    torch.testing.assert_close(model.log_label_prior.exp(), torch.tensor(expected))


def test_labels_are_sampled_from_their_prior():
    model = SemiConditionalFlow(ActNorm(2), GaussianPerClass(2, 2), (2,), torch.tensor([1.0, 9.0]))
    assert model.sample(5000)[1].float().mean().item() == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("prior", [[1.0], [1.0, 0.0], [1.0, -1.0], [1.0, float("nan")], [1.0, float("inf")]])
def test_bad_label_prior_is_refused(prior):
    with pytest.raises(ValueError, match="label_prior must hold 2 positive numbers"):
        SemiConditionalFlow(ActNorm(2), GaussianPerClass(2, 2), (2,), torch.tensor(prior))


def test_too_many_features_for_h_are_refused():
    with pytest.raises(ValueError, match="between 1 and 2 components, got 3"):
        SemiConditionalFlow(ActNorm(2), GaussianPerClass(3, 2), (2,))
