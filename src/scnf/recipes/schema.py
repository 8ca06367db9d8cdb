"""The typed form of a recipe: what model to build and how to train it.

A recipe is data. Every key has a type and a default here; an unknown key or a wrong value is an error that names it.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Solver = Literal["euler", "midpoint", "rk4", "dopri5", "bosh3", "dopri8"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CouplingSpec(_Strict):
    """Glow steps on vectors: ActNorm, invertible linear map, coupling with an MLP."""

    kind: Literal["coupling"]
    steps: PositiveInt = 6
    hidden: tuple[PositiveInt, ...] = (64, 64)
    map: Literal["affine", "spline"] = "affine"
    scale: Literal["sigmoid", "exp", "tanh"] = "tanh"
    bound: PositiveFloat = 2.0  # of the log-scale (affine, tanh) or of the spline's box
    bins: Annotated[int, Field(ge=2)] = 8
    linear: Literal["full", "lu"] = "full"


class FFJORDSpec(_Strict):
    """A continuous flow on vectors with tanh dynamics of two hidden layers."""

    kind: Literal["ffjord"]
    hidden: PositiveInt = 64
    blocks: PositiveInt = 1
    time: PositiveFloat = 1.0
    solver: Solver = "rk4"  # while training
    solver_steps: PositiveInt = 4
    eval_solver: Solver = "dopri5"  # a coarse solver flatters the likelihood that was trained with it
    rtol: PositiveFloat = 1e-5
    atol: PositiveFloat = 1e-5
    trace: Literal["auto", "exact", "hutchinson"] = "auto"
    adjoint: bool = False


class MultiscaleSpec(_Strict):
    """Glow steps on images: every level squeezes, takes its steps and keeps some channels for the next."""

    kind: Literal["multiscale"]
    steps: tuple[PositiveInt, ...] = (4, 4)  # of each level
    keep: tuple[PositiveInt, ...] = (2, 2)  # channels that go on from each level
    hidden: PositiveInt = 32
    blocks: PositiveInt = 1
    scale: Literal["sigmoid", "exp", "tanh"] = "tanh"
    bound: PositiveFloat = 2.0
    linear: Literal["full", "lu"] = "full"


class GaussianSpec(_Strict):
    """One Gaussian per class."""

    kind: Literal["gaussian"]
    covariance: Literal["diagonal", "full"] = "full"


class ModelSpec(_Strict):
    """f, h and what surrounds them."""

    f: Annotated[CouplingSpec | FFJORDSpec | MultiscaleSpec, Field(discriminator="kind")]
    h: Annotated[CouplingSpec | FFJORDSpec | GaussianSpec, Field(discriminator="kind")]
    scaling: Literal["columns", "principal"] = "columns"  # vectors only: by column, or rotated to principal components
    z_f: PositiveInt | None = None  # vectors only: components that go on to h; all of them if unset
    logit_alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05  # images only
    label_prior: Literal["uniform", "labelled"] | tuple[PositiveFloat, ...] = "uniform"


class TrainingSpec(_Strict):
    """The objective, how rows are drawn, and the optimiser."""

    objective: Literal["sgd", "em"] = "sgd"
    clf_weight: Annotated[float, Field(ge=0)] = 0.0
    clf_temperature: PositiveFloat = 1.0
    steps: PositiveInt = 1000
    batch_size: Annotated[int, Field(ge=2)] = 256  # one labelled and one hidden row at least
    labelled_share: Share | None = None  # of each batch; their share of the training rows if unset
    labelled_weight: Share | None = None  # in the objective; their share of the rows (equation 1) if unset
    # Decays geometrically to labelled_weight, so not from 0; no decay if unset.
    labelled_weight_start: Annotated[float, Field(gt=0, le=1)] | None = None
    labelled_decay: Share = 0.5  # at which part of the run the weight has decayed
    noise: Annotated[float, Field(ge=0)] = 0.0  # Gaussian, in standard deviations of the column
    learning_rate: PositiveFloat = 2e-3
    warmup_steps: Annotated[int, Field(ge=0)] = 50
    decay_start: Annotated[float, Field(ge=0, lt=1)] = 0.0  # at which part of the run the rate begins to fall
    betas: tuple[Share, Share] = (0.9, 0.99)
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    clip: PositiveFloat = 10.0  # of the gradient's norm
    ema: Share = 0.99
    n_init: PositiveInt = 1


class Recipe(_Strict):
    """A named model and its training."""

    name: str
    description: str = ""
    model: ModelSpec
    training: TrainingSpec = TrainingSpec()
