import pytest
import torch
from torch import nn

from scnf.training.muon import Muon, orthogonalized


@pytest.mark.parametrize("shape", [(3, 6, 6), (2, 4, 9), (2, 9, 4), (1, 1, 5)])
def test_orthogonalized_matrices_keep_their_directions_and_lose_their_sizes(shape):
    torch.manual_seed(0)
    u, _, vt = torch.linalg.svd(torch.randn(shape, dtype=torch.float64), full_matrices=False)
    sizes = torch.logspace(-1, 0, u.shape[2], dtype=torch.float64)
    result = orthogonalized(u * sizes @ vt)
    inside = u.mT @ result @ vt.mT
    diagonal = inside.diagonal(dim1=1, dim2=2)
    torch.testing.assert_close(inside, torch.diag_embed(diagonal), atol=1e-9, rtol=0)
    assert ((diagonal > 0.5) & (diagonal < 1.3)).all()


def groups(weights: list[nn.Parameter], others: list[nn.Parameter], decay: float = 0.0) -> list[dict]:
    return [
        {"params": weights, "orthogonal": True, "weight_decay": decay},
        {"params": others, "orthogonal": False, "weight_decay": 0.0},
    ]


def test_a_step_is_torchs_own_for_matrices_and_adams_for_the_rest():
    torch.manual_seed(0)
    ours, theirs = (nn.Parameter(torch.ones(4, 6)) for _ in range(2))
    bias, adams = (nn.Parameter(torch.ones(4)) for _ in range(2))
    optimizer = Muon(groups([ours], [bias], 0.1), lr=0.02, betas=(0.9, 0.99), fused=True)
    peers = [
        torch.optim.Muon([theirs], lr=0.02, weight_decay=0.1, momentum=0.95),
        torch.optim.AdamW([adams], lr=0.02, betas=(0.9, 0.99), weight_decay=0.0),
    ]
    for _ in range(3):
        ours.grad = torch.randn(4, 6)
        bias.grad = torch.randn(4)
        theirs.grad, adams.grad = ours.grad.clone(), bias.grad.clone()
        for each in (optimizer, *peers):
            each.step()
    # torch rounds to bfloat16 on the way.
    torch.testing.assert_close(ours, theirs, atol=2e-3, rtol=0)
    torch.testing.assert_close(bias, adams)


def test_weights_of_one_shape_move_together_as_they_would_alone():
    torch.manual_seed(0)
    gradients = [torch.randn(5, 2, 3, 3) for _ in range(3)]
    together, alone = ([nn.Parameter(torch.zeros(5, 2, 3, 3)) for _ in gradients] for _ in range(2))
    optimizers = [Muon(groups(together, []), lr=0.1), *(Muon(groups([weight], []), lr=0.1) for weight in alone)]
    for weights in (together, alone):
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient.clone()
    for optimizer in optimizers:
        optimizer.step()
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one, other)
    assert all(weight.abs().sum() > 0 for weight in together)
