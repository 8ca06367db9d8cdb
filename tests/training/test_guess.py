import pytest
import torch

from scnf.densities import GaussianPerClass
from scnf.recipes import TrainingSpec
from scnf.training import TrainingData
from scnf.training.guess import first_guess, start_rows
from tests.helpers import blobs

DATA = blobs(rows=200, labelled=4)
TRUTH = torch.arange(200) % 2


def test_labels_alone_guess_nothing():
    assert first_guess("labels", DATA.x, DATA.y, 2) is None
    assert first_guess("graph", DATA.x, torch.full_like(DATA.y, -1), 2) is None


def test_em_leaves_hidden_rows_open():
    assert torch.equal(first_guess("em", DATA.x, DATA.y, 2), torch.zeros(200, 2))


def test_the_graph_spreads_labels_to_neighbours():
    assert torch.equal(first_guess("graph", DATA.x, DATA.y, 2).argmax(1), TRUTH)


def test_where_all_labels_are_known_there_is_nothing_to_guess():
    assert torch.equal(first_guess("graph", DATA.x, TRUTH, 2), torch.zeros(200, 2))


@pytest.mark.parametrize("covariance", ["diagonal", "full", "shared"])
@pytest.mark.parametrize("start", ["em", "graph"])
def test_em_finds_the_classes(covariance, start):
    density = GaussianPerClass(2, 2, covariance).double()
    x = DATA.x.double()
    density.initialize(x, DATA.y, first_guess(start, x, DATA.y, 2).double())
    assert float((density.log_prob_all(x).argmax(1) != TRUTH).double().mean()) < 0.01
    means = torch.stack([x[k == TRUTH].mean(0) for k in (0, 1)])
    torch.testing.assert_close(density.mean, means, atol=0.05, rtol=0)


def test_em_sees_altered_copies_of_images():
    images = torch.randint(0, 17, (20, 1, 8, 8), dtype=torch.uint8)
    data = TrainingData(images, torch.arange(20) % 5 - 1, 4, levels=17)
    spec = TrainingSpec(start="graph", consistency={"augment": {"shift": 1.0}})
    x, y, guess = start_rows(data, spec)
    assert x.shape == (80, 1, 8, 8)
    assert torch.equal((x[:20] * 17).floor(), images.float())
    assert torch.equal(y, data.y.repeat(4))
    assert torch.equal(guess, guess[:20].repeat(4, 1))
    assert len(start_rows(data, TrainingSpec(start="graph"))[0]) == 20
