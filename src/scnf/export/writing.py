"""From a model to a file of the one format or the other, checked before it is there."""

import io
import logging
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor

from scnf.errors import UserError
from scnf.export.checking import LIMIT, ROWS, Difference, Expectation, Told, refuse_if_far
from scnf.export.classifier import Classifier
from scnf.export.layers import has_adaptive_solver
from scnf.export.normal_quantile import normal_quantile
from scnf.modelfile import TrainedModel
from scnf.wholefile import whole

Format = Literal["torch", "onnx"]
ENDINGS: dict[Format, str] = {"torch": ".pt2", "onnx": ".onnx"}

# Steps of an ODE are doubled from the first to the last of these, until they are enough.
_FEWEST_STEPS, _MOST_STEPS = 8, 64
# Of the limit: other rows may need more than those that are looked at.
_ENOUGH = 0.25
# What ONNX has no operator for, in operations that it has.
_FOR_ONNX: dict[Any, Callable[..., Tensor]] = {torch.ops.aten.special_ndtri.default: normal_quantile}


def export_classifier(trained: TrainedModel, path: Path, kind: Format) -> Difference:
    """Write the classifier of a model to a file, whole or not at all, and return how it differs from the model.

    What the file will hold is run first, on rows that look like data; if it says anything else, there is no file.
    """
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = Expectation(trained)
        classifier = _with_enough_steps(trained, expected)
        refuse_if_far(expected.difference(classifier(expected.rows)), path)
        # Written with other rows than it is checked with: their number must be free.
        make, run = (_torch_program, _run_torch) if kind == "torch" else (_onnx_program, _run_onnx)
        program = make(classifier, expected.rows[: ROWS // 2 + 1])
        difference = expected.difference(run(program, expected.rows))
    refuse_if_far(difference, path)
    with whole(path) as temporary:
        temporary.write_bytes(program)
    return difference


def _with_enough_steps(trained: TrainedModel, expected: Expectation) -> Classifier:
    steps, enough = _FEWEST_STEPS, Difference(*(_ENOUGH * limit for limit in LIMIT))
    classifier = Classifier(trained, steps)
    if not any(has_adaptive_solver(layer) for layer in trained.model.modules()):
        return classifier
    while steps < _MOST_STEPS and not expected.difference(classifier(expected.rows)).within(enough):
        steps *= 2
        classifier = Classifier(trained, steps)
    return classifier


def _torch_program(classifier: Classifier, rows: Tensor) -> bytes:
    buffer = io.BytesIO()
    torch.export.save(_traced(classifier, rows), buffer)
    return buffer.getvalue()


def _run_torch(program: bytes, rows: Tensor) -> Told:
    return torch.export.load(io.BytesIO(program)).module()(rows)


def _onnx_program(classifier: Classifier, rows: Tensor) -> bytes:
    try:
        import onnxruntime  # noqa: F401, PLC0415 (an optional dependency)
        import onnxscript  # noqa: F401, PLC0415
    except ImportError as error:
        raise UserError(
            f"ONNX needs packages that are not installed ({error.name}): install scnf with its extra `export`"
        ) from error
    # They tell of libraries that are not there, and of constants that they leave alone.
    for name in ("torch.onnx", "onnxscript", "onnx_ir"):
        logging.getLogger(name).setLevel(logging.ERROR)
    traced = _traced(classifier, rows)
    if any(node.target in _FOR_ONNX for node in traced.graph.nodes):
        traced = traced.run_decompositions(_FOR_ONNX)
    try:
        program = torch.onnx.export(
            traced,
            dynamo=True,
            verbose=False,
            input_names=["x"],
            output_names=["probabilities", "log_density"],
        )
    except torch.onnx.OnnxExporterError as error:
        missing = re.search(r"No ONNX function found for <OpOverload\(op='([^']+)'", str(error))
        why = f": it has no {missing[1]}" if missing else ""
        raise UserError(f"ONNX cannot tell this model{why}; --format torch can") from error
    assert program is not None
    return program.model_proto.SerializeToString()


def _run_onnx(program: bytes, rows: Tensor) -> Told:
    import onnxruntime  # noqa: PLC0415

    session = onnxruntime.InferenceSession(program, providers=["CPUExecutionProvider"])
    probabilities, log_density = session.run(None, {"x": rows.numpy()})
    return torch.from_numpy(probabilities), torch.from_numpy(log_density)


def _traced(classifier: Classifier, rows: Tensor) -> torch.export.ExportedProgram:
    return torch.export.export(classifier, (rows,), dynamic_shapes=({0: torch.export.Dim("rows", min=1)},))
