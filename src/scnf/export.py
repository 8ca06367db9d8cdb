"""The classifier alone in a file that needs no scnf: a program of torch.export (.pt2) or ONNX."""

import copy
import logging
import math
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from scnf.bijections import FFJORD
from scnf.bijections.linear import ChannelLinear
from scnf.densities import ConditionalFlow, standard_normal_log_prob
from scnf.errors import UserError
from scnf.modelfile import TrainedModel

Format = Literal["torch", "onnx"]
ENDINGS: dict[Format, str] = {"torch": ".pt2", "onnx": ".onnx"}

_ROWS = 64  # that the file is checked with
_LARGEST_DIFFERENCE = 1e-3


class Difference(NamedTuple):
    """How far what a file says lies from what the model says, at the most: of probabilities and of log-densities."""

    probability: float
    log_density: float


class Classifier(nn.Module):
    """Rows x ``[B, ...]`` to probabilities ``[B, K]`` and log-densities ``[B]``, in operations that a file can hold.

    Images are whole numbers as the data have them, taken at the middle of their cells; a table's rows are encoded, and
    the log-density is that of the encoded row.
    """

    prior: Tensor
    contexts: Tensor

    def __init__(self, trained: TrainedModel):
        super().__init__()
        if any(isinstance(layer, FFJORD) for layer in trained.model.modules()):
            raise UserError(
                "a model with FFJORD layers cannot be exported: its solver chooses its steps while it runs; fit one "
                "whose f and h are couplings or Gaussians"
            )
        model = copy.deepcopy(trained.model).eval()
        _fix_linear_maps(model)
        self.flow, self.conditional, self.levels = model.flow, model.conditional, trained.levels
        self.temperature, self.dimensions = trained.temperature, model.dimensions
        self.register_buffer("prior", model.log_label_prior)
        self.register_buffer("contexts", torch.eye(model.classes))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return probabilities and log-densities."""
        if self.levels is not None:
            x = (x + 0.5) / self.levels
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
        # Class by class: blocks of rows for all classes at once would tie the file to a number of rows.
        parts = []
        for k in range(len(self.contexts)):
            z_h, ladj = self.conditional.flow(z_f, self.contexts[k : k + 1])
            parts.append(self.conditional.base.log_prob(z_h) + ladj)
        return torch.stack(parts, dim=1)


class _FixedLinear(ChannelLinear):
    """A linear map whose determinant is known: a file need not compute it."""

    matrix: Tensor
    log_det: Tensor

    def __init__(self, layer: ChannelLinear):
        super().__init__()
        matrix, log_det = layer.matrix_and_log_det()
        self.register_buffer("matrix", matrix.detach().clone())
        self.register_buffer("log_det", log_det.detach().clone())

    def matrix_and_log_det(self) -> tuple[Tensor, Tensor]:
        return self.matrix, self.log_det

    def inverse(self, z: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        raise NotImplementedError("an exported classifier goes one way")


def _fix_linear_maps(module: nn.Module) -> None:
    for name, child in module.named_children():
        if isinstance(child, ChannelLinear):
            setattr(module, name, _FixedLinear(child))
        else:
            _fix_linear_maps(child)


def export_classifier(trained: TrainedModel, path: Path, kind: Format) -> Difference:
    """Write the classifier of a model to a file, whole or not at all, and return how it differs from the model.

    The file is opened again and asked for random rows; one that says anything else is not kept.
    """
    classifier = Classifier(trained)
    rows = _random_rows(trained)
    # It keeps the ending, by which libraries go.
    temporary = path.with_name(f".{os.getpid()}.partial.{path.name}")
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            # Written with other rows than it is checked with: their number must be free.
            run = (_write_torch if kind == "torch" else _write_onnx)(classifier, rows[: _ROWS // 2 + 1], temporary)
            difference = _difference(trained, rows, run(rows))
        if not difference.probability <= _LARGEST_DIFFERENCE:
            raise UserError(f"the exported file tells probabilities that differ by {difference.probability:.2g}")
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return difference


def _random_rows(trained: TrainedModel) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    shape = (_ROWS, *trained.model.shape)
    if trained.levels is None:
        return torch.randn(shape, generator=generator)
    return torch.randint(0, trained.levels, shape, generator=generator).float()


def _difference(trained: TrainedModel, rows: Tensor, told: tuple[Tensor, Tensor]) -> Difference:
    levels = trained.levels
    log_joint = trained.model.log_joint(rows if levels is None else (rows + 0.5) / levels)
    density = log_joint.logsumexp(1) - (0.0 if levels is None else trained.model.dimensions * math.log(levels))
    expected = ((log_joint / trained.temperature).softmax(1), density)
    return Difference(*(float((a - b).abs().max()) for a, b in zip(told, expected, strict=True)))


def _shapes() -> Any:
    return ({0: torch.export.Dim("rows", min=1)},)


def _write_torch(classifier: Classifier, rows: Tensor, path: Path) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    torch.export.save(torch.export.export(classifier, (rows,), dynamic_shapes=_shapes()), path)
    opened = torch.export.load(path).module()
    return opened


def _write_onnx(classifier: Classifier, rows: Tensor, path: Path) -> Callable[[Tensor], tuple[Tensor, Tensor]]:
    try:
        import onnxruntime  # noqa: PLC0415 (an optional dependency)
        import onnxscript  # noqa: F401, PLC0415
    except ImportError as error:
        raise UserError(
            f"ONNX needs packages that are not installed ({error.name}): install scnf with its extra `export`"
        ) from error
    # They tell of libraries that are not there, and of constants that they leave alone.
    for name in ("torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        program = torch.onnx.export(
            classifier,
            (rows,),
            dynamo=True,
            dynamic_shapes=_shapes(),
            verbose=False,
            input_names=["x"],
            output_names=["probabilities", "log_density"],
        )
    except torch.onnx.OnnxExporterError as error:
        missing = re.search(r"No ONNX function found for <OpOverload\(op='([^']+)'", str(error))
        why = f": it has no {missing[1]}" if missing else ""
        raise UserError(f"ONNX cannot tell this model{why}; --format torch can") from error
    assert program is not None
    program.save(str(path), external_data=False)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def run(x: Tensor) -> tuple[Tensor, Tensor]:
        probabilities, log_density = session.run(None, {"x": x.numpy()})
        return torch.from_numpy(probabilities), torch.from_numpy(log_density)

    return run
