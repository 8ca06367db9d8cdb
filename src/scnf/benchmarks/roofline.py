"""What this machine's convolutions allow: a bare loop of the convolutions that a model does, and nothing else."""

from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from scnf.benchmarks.timing import Task
from scnf.nets import channels_last


class Convolution(NamedTuple):
    """One convolution of one image, with padding that keeps the size."""

    in_channels: int
    out_channels: int
    height: int
    width: int
    kernel: int

    @property
    def macs(self) -> int:
        """Multiplications for one image, forward."""
        return self.in_channels * self.out_channels * self.height * self.width * self.kernel**2


def convolutions_of(model: nn.Module, task: Task) -> Counter[Convolution]:
    """Return the convolutions that the model's nets do in one call of a task, and how often each."""
    found: Counter[Convolution] = Counter()

    def note(module: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        assert isinstance(module, nn.Conv2d)
        height, width = output.shape[2:]
        kernel = int(module.kernel_size[0])
        found[Convolution(module.in_channels, module.out_channels, height, width, kernel)] += 1

    convolutions = [module for module in model.modules() if isinstance(module, nn.Conv2d)]
    handles = [module.register_forward_hook(note) for module in convolutions]
    try:
        task()
    finally:
        for handle in handles:
            handle.remove()
    return found


class BareLoop:
    """All convolutions of a model, channels last, one after the other: ``train`` and ``infer`` are what it can do best.

    Every kind of convolution has one input, which stays in the cache where it fits: no model has it better.
    """

    def __init__(self, convolutions: Counter[Convolution], batch_size: int):
        self.work = []
        for shape, count in convolutions.items():
            layer = nn.Conv2d(shape.in_channels, shape.out_channels, shape.kernel, padding=shape.kernel // 2)
            channels_last(layer)
            x = torch.randn(batch_size, shape.in_channels, shape.height, shape.width)
            x = x.to(memory_format=torch.channels_last).requires_grad_()
            gradient = torch.randn(batch_size, shape.out_channels, shape.height, shape.width)
            self.work.append((layer, x, gradient.to(memory_format=torch.channels_last), count))

    def train(self) -> None:
        """Go forward and backward through every convolution: gradients of input, weight and bias."""
        for layer, x, gradient, count in self.work:
            for _ in range(count):
                torch.autograd.grad(layer(x), [x, *layer.parameters()], gradient)

    @torch.inference_mode()
    def infer(self) -> None:
        """Go forward through every convolution."""
        for layer, x, _, count in self.work:
            for _ in range(count):
                F.conv2d(x, layer.weight, layer.bias, padding=layer.padding)
