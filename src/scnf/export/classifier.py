"""What an exported file computes."""

import copy
import math

import torch
from torch import Tensor, nn

from scnf.data.batches import middles
from scnf.densities import ConditionalFlow, standard_normal_log_prob
from scnf.export.layers import fix_layers
from scnf.modelfile import TrainedModel


class Classifier(nn.Module):
    """Rows x ``[B, ...]`` to probabilities ``[B, K]`` and log-densities ``[B]``, in operations that a file can hold.

    Images are whole numbers as the data have them, taken at the middle of their cells; a table's rows are encoded, and
    the log-density is that of the encoded row. ODEs with an adaptive solver take ``ode_steps`` steps.
    """

    prior: Tensor
    contexts: Tensor

    def __init__(self, trained: TrainedModel, ode_steps: int):
        super().__init__()
        model = copy.deepcopy(trained.model).eval().requires_grad_(False)
        fix_layers(model, ode_steps)
        self.flow, self.conditional, self.levels = model.flow, model.conditional, trained.levels
        self.temperature, self.dimensions = trained.temperature, model.dimensions
        self.register_buffer("prior", model.log_label_prior)
        self.register_buffer("contexts", torch.eye(model.classes))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return probabilities and log-densities."""
        if self.levels is not None:
            x = middles(x, self.levels)
        z, ladj = self.flow(x)
        z = z.flatten(1)
        aside = self.dimensions - self.conditional.features
        # ONNX makes something else of a sum over nothing.
        shared = ladj + standard_normal_log_prob(z[:, :aside]) if aside else ladj
        log_joint = shared[:, None] + self._log_prob_all(z[:, aside:]) + self.prior
        shift = 0.0 if self.levels is None else self.dimensions * math.log(self.levels)
        return (log_joint / self.temperature).softmax(1), log_joint.logsumexp(1) - shift

    def _log_prob_all(self, z_f: Tensor) -> Tensor:
        if not isinstance(self.conditional, ConditionalFlow):
            return self.conditional.log_prob_all(z_f)
        # Class by class: ONNX ties blocks of rows for all classes at once to a number of rows.
        parts = []
        for k in range(len(self.contexts)):
            z_h, ladj = self.conditional.flow(z_f, self.contexts[k : k + 1])
            parts.append(self.conditional.base.log_prob(z_h) + ladj)
        return torch.stack(parts, dim=1)
