"""What lets a processor train faster and computes the same: memory that stays, and the faster of two products."""

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch

# Of glibc's malloc.h: when memory goes back, how much is taken at once, how many blocks have memory of their own.
_TRIM_THRESHOLD, _TOP_PAD, _MMAP_MAX = -1, -2, -4
_KEPT = {_TRIM_THRESHOLD: -1, _TOP_PAD: 2**26, _MMAP_MAX: 0}
_USUAL = {_TRIM_THRESHOLD: 2**17, _TOP_PAD: 2**17, _MMAP_MAX: 2**16}
# Rounding in 32 bits leaves a thousandth of this, one in 16 bits a hundred times as much.
_EXACT = 1e-2


def keep_memory() -> None:
    """Let the process keep what it frees, where it can be told so: on Linux with glibc.

    A step frees what it took, and the next one takes as much; each page that had gone back to the system costs a fault
    and is filled with zeros first, which is up to a fifth of a step on images.
    """
    if mallopt := _of_libc("mallopt"):
        for parameter, value in _KEPT.items():
            mallopt(parameter, value)


def give_memory_back() -> None:
    """Return to the system what is kept and not in use, and keep no more."""
    if (mallopt := _of_libc("mallopt")) and (malloc_trim := _of_libc("malloc_trim")):
        for parameter, value in _USUAL.items():
            mallopt(parameter, value)
        malloc_trim(0)


@contextmanager
def fast_products() -> Iterator[None]:
    """Have matrix products of 32 bits made by oneDNN where that is faster than MKL, and as exact.

    MKL leaves the wide registers of other makers' processors unused. torch hands a product to oneDNN if 16 bits are
    said to be enough, and oneDNN then takes 32 all the same where the processor has no units for matrices.
    """
    if not _are_exact():
        yield
        return
    with _by_onednn():
        yield


@contextmanager
def _by_onednn() -> Iterator[None]:
    matmul = _matmul()
    before = matmul.fp32_precision
    matmul.fp32_precision = "bf16"
    try:
        yield
    finally:
        matmul.fp32_precision = before


def _matmul() -> Any:
    """Return where torch is told how exact products must be; None in a version that cannot be told."""
    return getattr(torch.backends.mkldnn, "matmul", None)


@cache
def _are_exact() -> bool:
    """Return whether oneDNN can be asked for products, on a processor for which MKL is not made, and takes 32 bits."""
    if _matmul() is None or torch.backends.cpu.get_cpu_capability() != "AVX512" or "Intel" in _cpu("cpu_name", "Intel"):
        return False
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(2, 256, 256, generator=generator, dtype=torch.float32, device="cpu")
    with _by_onednn():
        product = a @ b
    return bool(((product - a.double() @ b.double()).abs() < _EXACT).all())


def has_bf16_units(on_gpu: bool | None = None) -> bool:
    """Return whether the GPU or the processor multiplies bfloat16 itself, and so faster; asked is the one that training
    takes, unless it is told.
    """
    if torch.cuda.is_available() if on_gpu is None else on_gpu:
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return bool(_cpu("avx512_bf16", False) or _cpu("amx_bf16", False))


def _cpu(what: str, unknown: Any) -> Any:
    """Return what torch knows of the processor; older versions know nothing."""
    return torch.cpu.get_capabilities().get(what, unknown) if hasattr(torch.cpu, "get_capabilities") else unknown


@cache
def _of_libc(name: str) -> "ctypes._NamedFuncPointer | None":
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
