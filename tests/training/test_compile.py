"""Compiled training is the same training."""

import pytest
import torch

from scnf.errors import UserError
from scnf.training import fit
from scnf.training.compiling import can_compile
from tests.helpers import blobs, small_recipe


@pytest.mark.skipif(not can_compile(), reason="there is no C++ compiler")
# What torch says of its own parts.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("devices", [1, 2])
def test_compiled_steps_are_the_same_steps(devices, capfd):
    f, h = {"kind": "coupling", "steps": 1, "hidden": [8]}, {"kind": "gaussian"}  # little to compile
    plain = fit(small_recipe(f, h), blobs()).model.state_dict()
    compiled = fit(small_recipe(f, h, compile=True), blobs(), devices=devices).model.state_dict()
    assert not capfd.readouterr().err  # torch has much to say of its own parts
    assert plain.keys() == compiled.keys()
    for name, value in plain.items():
        torch.testing.assert_close(compiled[name], value, rtol=1e-4, atol=1e-5)


def test_a_missing_compiler_is_told(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UserError, match=r"training\.compile needs a C\+\+ compiler"):
        fit(small_recipe(compile=True), blobs())


def test_how_fast_it_is_trained_does_not_make_another_recipe():
    plain, compiled = small_recipe(), small_recipe(compile=True)
    assert plain != compiled
    assert plain.essence() == compiled.essence()
    assert plain.essence() != small_recipe(steps=7).essence()
