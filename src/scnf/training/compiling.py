"""Models as machine code."""

import logging
import os
import shutil
import warnings
from typing import cast

import torch
from torch import nn

_COMPILERS = ("g++", "clang++", "c++", "cl")


def can_compile() -> bool:
    """Return whether there is a C++ compiler, which torch needs to translate a model to machine code."""
    own = os.environ.get("CXX")
    return any(map(shutil.which, (own,) if own else _COMPILERS))


def compiled(model: nn.Module) -> nn.Module:
    """Return the model, to be translated when it is first called for a batch of some size."""
    # What torch says of its own parts is no news for whoever trains.
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"torch\._inductor")
    logging.getLogger("torch._dynamo").setLevel(logging.ERROR)
    return cast(nn.Module, torch.compile(model))
