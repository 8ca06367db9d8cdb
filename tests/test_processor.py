"""What makes a processor faster must compute the same, and leave no trace."""

import os
import subprocess
import sys

import pytest
import torch

from scnf import processor
from scnf.processor import fast_products

_MEMORY = """
import sys
import torch
from scnf.processor import give_memory_back, keep_memory

def resident_mib():
    return int(open("/proc/self/statm").read().split()[1]) // 256

if sys.argv[1] == "keep":
    keep_memory()
before = resident_mib()
taken = [torch.ones(int(sys.argv[2]) * 2**18) for _ in range(160 // int(sys.argv[2]))]
taken.clear()
freed = resident_mib()
give_memory_back()
print(freed - before, resident_mib() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="malloc is told to keep memory on Linux alone")
@pytest.mark.parametrize("block", [16, 80])  # MiB
@pytest.mark.parametrize(("how", "kept"), [("keep", 160), ("leave", 0)])
def test_memory_is_kept_and_given_back_in_the_end(how, kept, block):
    # Who runs the tests may have told malloc something else.
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", _MEMORY, how, str(block)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=plain)
    after_freeing, in_the_end = map(int, done.stdout.split())
    assert after_freeing == pytest.approx(kept, abs=40)
    assert in_the_end < 40


@pytest.mark.parametrize("rows", [3, 200])
def test_fast_products_are_exact(rows):
    a, b = torch.randn(rows, 300), torch.randn(300, 50)
    with fast_products():
        product = a @ b
    torch.testing.assert_close(product.double(), a.double() @ b.double(), rtol=0, atol=1e-3)


@pytest.mark.skipif(processor._matmul() is None, reason="this torch cannot be told how exact products must be")
def test_fast_products_leave_the_setting_as_it_was(monkeypatch):
    monkeypatch.setattr(processor, "_are_exact", lambda: True)
    before = torch.backends.mkldnn.matmul.fp32_precision
    within = []

    def fail() -> None:
        with fast_products():
            within.append(torch.backends.mkldnn.matmul.fp32_precision)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert within == ["bf16"]
    assert torch.backends.mkldnn.matmul.fp32_precision == before
