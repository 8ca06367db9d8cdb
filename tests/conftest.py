import pytest
import torch
from hypothesis import settings

# One thread: small tensors gain nothing from more, and sums come out in one order.
torch.set_num_threads(1)
settings.register_profile("scnf", deadline=None, derandomize=True, max_examples=15)
settings.load_profile("scnf")


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)
