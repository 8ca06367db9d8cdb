"""Every system learns, and is the same for the same seed."""

import numpy as np
import pytest

from scnf.baselines.flows import SCNF, AutoregressiveFlow, FlowGMM, OneFlowPerClass, SupervisedSCNF
from scnf.baselines.sklearn import SklearnSystem
from scnf.baselines.systems import SYSTEMS
from scnf.baselines.vae_systems import M1, M1M2, M2
from scnf.errors import UserError

# Steps that are enough for two clusters.
SYSTEMS_THAT_LEARN = {
    "scnf": lambda steps: SCNF(steps=steps or 80, random_state=0),
    "scnf-supervised": lambda steps: SupervisedSCNF(steps=steps or 40, random_state=0),
    "m1": lambda steps: M1(steps=steps or 300, random_state=0),
    "m2": lambda steps: M2(steps=steps or 300, random_state=0),
    "m1-m2": lambda steps: M1M2(steps=steps or 600, random_state=0),
    "flowgmm": lambda steps: FlowGMM(steps=steps or 40, random_state=0),
    "flowgmm-consistency": lambda steps: FlowGMM(consistency=True, steps=steps or 40, random_state=0),
    "flow-per-class": lambda steps: OneFlowPerClass(steps=steps or 40, random_state=0),
    "autoregressive": lambda steps: AutoregressiveFlow(steps=steps or 150, random_state=0),
}
OF_CLUSTERS = 1.70  # nats: the entropy of two normal clusters that hardly meet, log 2 + log(2πe · 0.4²)


def clusters(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    return rng.normal(scale=0.4, size=(rows, 2)) + np.where(y == 1, 1.5, -1.5)[:, None], y


def pictures(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """4×4 pictures of 17 levels, the left or the right half bright."""
    rng = np.random.default_rng(seed)
    y = np.arange(rows) % 2
    shares = np.where((np.arange(4) < 2)[None, None, None] == (y == 0)[:, None, None, None], 0.8, 0.2)
    x = rng.binomial(16, np.broadcast_to(shares, (rows, 1, 4, 4)))
    x[0, 0, 0, 0] = 16  # so that the first row, which has its label, tells all levels
    return x, y


def hidden_but(y: np.ndarray, labels: int) -> np.ndarray:
    return np.where(np.arange(len(y)) < labels, y, -1)


def test_every_system_of_the_table_is_tested_here():
    assert {name for name in SYSTEMS if not isinstance(SYSTEMS[name].make(1.0, 0), SklearnSystem)} == set(
        SYSTEMS_THAT_LEARN
    )


@pytest.mark.parametrize("name", SYSTEMS_THAT_LEARN)
def test_two_clusters_are_learned_from_eight_labels(name):
    (x, y), (x_test, y_test) = clusters(200, 0), clusters(200, 1)
    system = SYSTEMS_THAT_LEARN[name](None).fit(x, hidden_but(y, 8))
    assert np.mean(system.predict(x_test) != y_test) <= 0.02
    proba = system.predict_proba(x_test)
    assert proba.shape == (200, 2)
    np.testing.assert_allclose(proba.sum(1), 1, atol=1e-5)
    np.testing.assert_array_equal(system.classes_[proba.argmax(1)], system.predict(x_test))
    # After few steps; one normal distribution for both would have 2.69 nats, and eight rows tell little.
    nll = -system.score_samples(x_test).mean()
    assert OF_CLUSTERS - 0.2 < nll < (4.5 if name == "scnf-supervised" else OF_CLUSTERS + 0.8)
    assert system.n_parameters_ > 100


@pytest.mark.parametrize("name", SYSTEMS_THAT_LEARN)
def test_the_same_seed_gives_the_same_system(name):
    x, y = pictures(40, 0)
    first, second = (SYSTEMS_THAT_LEARN[name](2).fit(x, hidden_but(y, 8)) for _ in range(2))
    np.testing.assert_array_equal(first.predict_proba(x), second.predict_proba(x))
    np.testing.assert_array_equal(first.score_samples(x), second.score_samples(x))


@pytest.mark.parametrize("system", [M1(steps=200, random_state=0), M2(steps=200, random_state=0)])
def test_images_are_learned_by_their_counts(system):
    (x, y), (x_test, y_test) = pictures(200, 0), pictures(100, 1)
    system.fit(x, hidden_but(y, 8))
    assert np.mean(system.predict(x_test) != y_test) <= 0.02
    # Binomial(16, 0.2) and Binomial(16, 0.8) have 1.88 nats a pixel.
    assert 16 * 1.88 < -system.score_samples(x_test).mean() < 16 * 1.88 + 4


def test_an_autoregressive_flow_of_small_images_is_judged_by_rows_kept_aside():
    x, y = pictures(40, 0)
    system = AutoregressiveFlow(steps=5, random_state=0).fit(x, hidden_but(y, 8))
    assert np.isfinite(system.score_samples(x)).all()
    assert system.classifier_.history_[-1]["held_out"] is not None


def test_images_of_many_levels_have_no_density_under_a_bernoulli_decoder():
    x, y = pictures(20, 0)
    system = M2(steps=1, random_state=0).fit(x.astype(np.uint8), y)
    with pytest.raises(UserError, match="no density of pixels with 256 levels"):
        system.score_samples(x.astype(np.uint8))


def test_one_flow_per_class_grows_with_the_classes():
    x, y = clusters(40, 0)
    two = OneFlowPerClass(steps=1, random_state=0).fit(x, y)
    four = OneFlowPerClass(steps=1, random_state=0).fit(x, np.arange(40) % 4)
    assert four.n_parameters_ == 2 * two.n_parameters_


@pytest.mark.parametrize("shape", [(2,), (30,), (1, 8, 8), (1, 28, 28)])
@pytest.mark.parametrize("entry", SYSTEMS.values(), ids=SYSTEMS.keys())
def test_settings_follow_from_the_shape_and_tell_the_time(entry, shape):
    settings = entry.make(90.0, 3).settings(shape)
    assert settings["model"]
    if settings["training"]:
        assert settings["training"]["max_minutes"] == 1.5
    assert settings == entry.make(90.0, 4).settings(shape)
