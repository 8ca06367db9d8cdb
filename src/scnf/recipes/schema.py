"""The typed form of a recipe: what model to build and how to train it.

A recipe is data. Every key has a type and a default here; an unknown key or a wrong value is an error that names it.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

PositiveInt = Annotated[int, Field(ge=1)]
PositiveFloat = Annotated[float, Field(gt=0)]
Share = Annotated[float, Field(ge=0, le=1)]
_Beta = Annotated[float, Field(ge=0, lt=1)]  # the optimisers divide by 1 − β
Solver = Literal["euler", "midpoint", "rk4", "dopri5", "bosh3", "dopri8"]
StepOrder = Literal["actnorm-first", "actnorm-last"]
Halves = Literal["one", "both"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class CouplingSpec(_Strict):
    """Glow steps on vectors: ActNorm, invertible linear map, coupling with an MLP or a residual net."""

    kind: Literal["coupling"]
    # Several numbers: half of the components is factored out between one number of steps and the next.
    steps: PositiveInt | Annotated[tuple[PositiveInt, ...], Field(min_length=1)] = 6
    hidden: tuple[PositiveInt, ...] = (64, 64)  # widths of the nets
    blocks: Annotated[int, Field(ge=0)] = 0  # residual blocks, as wide as the one number of hidden; a plain MLP if 0
    order: StepOrder = "actnorm-first"  # first: ActNorm, linear map, coupling; last: linear map, coupling, ActNorm
    halves: Halves = "one"  # of the components that a coupling moves; both: in turn, a net for each
    class_affine: bool = True  # in h: every class is moved and scaled as a whole after each step
    class_linear: bool = False  # in h: every class has a mean and a full covariance of its own before the first step
    map: Literal["affine", "spline"] = "affine"  # how a component is moved
    scale: Literal["sigmoid", "exp", "tanh"] = "tanh"  # sigmoid(s + 2), exp(s), or exp of the bounded s
    bound: PositiveFloat = 2.0  # of the log-scale (affine, tanh) or of the spline's box
    bins: Annotated[int, Field(ge=2)] = 8  # of a spline
    # The invertible map: any matrix, its LU factors, or none: components stay in order, so z_f starts as the last ones.
    linear: Literal["full", "lu", "none"] = "full"

    @model_validator(mode="after")
    def _one_width(self) -> "CouplingSpec":
        if self.blocks and len(self.hidden) != 1:
            raise ValueError(f"a net with residual blocks has one width, hidden has {len(self.hidden)}")
        return self


class FFJORDSpec(_Strict):
    """A continuous flow on vectors with tanh dynamics of two hidden layers."""

    kind: Literal["ffjord"]
    hidden: PositiveInt = 64  # width of both layers
    blocks: PositiveInt = 1  # ODEs one after the other
    time: PositiveFloat = 1.0  # for which each is followed
    solver: Solver = "rk4"  # while training
    solver_steps: PositiveInt = 4  # of a solver with fixed steps
    eval_solver: Solver = "dopri5"  # a coarse solver flatters the likelihood that was trained with it
    rtol: PositiveFloat = 1e-5  # relative error of an adaptive solver
    atol: PositiveFloat = 1e-5  # absolute error of an adaptive solver
    trace: Literal["auto", "exact", "hutchinson"] = "auto"  # auto: exact where there are few components
    adjoint: bool = False  # gradients by a second solve: little memory, more time


class LevelSpec(_Strict):
    """One level of a multiscale flow, in this order."""

    checkerboard: Annotated[int, Field(ge=0)] = 0  # coupling steps with a checkerboard mask
    squeeze: bool = True  # every 2×2 pixels become 4 channels
    channel: Annotated[int, Field(ge=0)] = 0  # coupling steps with a channel mask
    keep: PositiveInt | None = None  # channels that go on to the next level, or to z_f; all of them if unset
    hidden: PositiveInt | None = None  # as in the flow if unset
    blocks: Annotated[int, Field(ge=0)] | None = None  # as in the flow if unset


class MultiscaleSpec(_Strict):
    """Glow steps on images in levels; what the last level keeps is z_f."""

    kind: Literal["multiscale"]
    # From the image down.
    levels: Annotated[tuple[LevelSpec, ...], Field(min_length=1)] = (
        LevelSpec(channel=4, keep=2),
        LevelSpec(channel=4, keep=2),
    )
    net: Literal["residual", "glow"] = "residual"  # glow: convolutions of 3×3, 1×1 and 3×3, no residual blocks
    hidden: PositiveInt = 32  # channels of the nets
    blocks: Annotated[int, Field(ge=0)] = 1  # residual blocks between the nets' first and last convolution
    scale: Literal["sigmoid", "exp", "tanh"] = "tanh"  # sigmoid(s + 2), exp(s), or exp of the bounded s
    bound: PositiveFloat = 2.0  # of the log-scale (tanh)
    linear: Literal["full", "lu"] = "full"  # 1×1 convolution: any matrix, or its LU factors
    order: StepOrder = "actnorm-first"  # first: ActNorm, linear map, coupling; last: linear map, coupling, ActNorm
    halves: Halves = "one"  # of the channels that a channel coupling moves; both: in turn, a net for each
    split_prior: bool = False  # what is factored out: standardised by a Gaussian given what is kept


class IdentitySpec(_Strict):
    """No flow: scaled columns go on as they are."""

    kind: Literal["none"]


class GaussianSpec(_Strict):
    """One Gaussian per class."""

    kind: Literal["gaussian"]
    covariance: Literal["diagonal", "full", "shared"] = "full"  # shared: one full matrix for all classes


class FixedGaussiansSpec(_Strict):
    """Gaussians that are not learned, on all components of f: FlowGMM."""

    kind: Literal["fixed-gaussians"]
    distance: PositiveFloat = 5.0  # between their means, in standard deviations


class FlowPerClassSpec(_Strict):
    """A flow of its own for every class."""

    kind: Literal["flow-per-class"]
    flow: Annotated[CouplingSpec | FFJORDSpec | MultiscaleSpec, Field(discriminator="kind")]


class AutoregressiveSpec(_Strict):
    """A masked autoregressive flow that is given the label."""

    kind: Literal["autoregressive"]
    steps: PositiveInt = 5  # each with a masked net, the components in turned order
    hidden: tuple[PositiveInt, ...] = (64, 64)  # widths of the nets
    map: Literal["affine", "spline"] = "affine"  # how a component is moved
    bins: Annotated[int, Field(ge=2)] = 8  # of a spline


Conditional = CouplingSpec | FFJORDSpec | GaussianSpec | FixedGaussiansSpec | FlowPerClassSpec | AutoregressiveSpec


class ModelSpec(_Strict):
    """f, h and what surrounds them."""

    f: Annotated[CouplingSpec | FFJORDSpec | MultiscaleSpec | IdentitySpec, Field(discriminator="kind")]
    h: Annotated[Conditional, Field(discriminator="kind")]
    scaling: Literal["columns", "principal"] = "columns"  # vectors only: by column, or rotated to principal components
    z_f: PositiveInt | None = None  # vectors only: components that go on to h; all of them if unset
    # Images only: how pixels reach the real line; background: the darkest level becomes a narrow Gaussian of its own.
    pixels: Literal["logit", "background"] = "logit"
    logit_alpha: Annotated[float, Field(gt=0, lt=1)] = 0.05  # images only: the logit's margins
    pixel_levels: Annotated[int, Field(ge=2)] = 256  # background only: the number of grey levels
    # p(y): all alike, as often as among the labels, or these shares.
    label_prior: Literal["uniform", "labelled"] | tuple[PositiveFloat, ...] = "uniform"


class AugmentSpec(_Strict):
    """How far an altered copy may go; what an image's may is drawn evenly up to its limit, either way."""

    shift: Annotated[float, Field(ge=0)] = 2.0  # pixels
    rotate: Annotated[float, Field(ge=0, le=180)] = 15.0  # degrees
    scale: Annotated[float, Field(ge=0, lt=1)] = 0.1  # share of the size
    shear: Annotated[float, Field(ge=0, lt=1)] = 0.2  # share of the height
    noise: Annotated[float, Field(ge=0)] = 0.0  # of rows that are no images: Gaussian, in deviations of the column


class ConsistencySpec(_Strict):
    """The posterior of a clean row teaches its altered copy; with `guess`, the graph teaches both."""

    # posterior: that of the copy, so that the likelihood is learned from clean rows alone; likelihood: that of the copy
    # under the class that the clean row is taken to be of.
    loss: Literal["posterior", "likelihood"] = "posterior"
    weight: PositiveFloat = 8.0  # in nats a row, beside the likelihood's
    weight_end: PositiveFloat | None = (
        None  # to which the weight goes geometrically by the end of the run; it stays if unset
    )
    temperature: PositiveFloat = 4.0  # of both posteriors
    # Cross-entropy, in nats, beyond which it counts by its logarithm, so that no row that is told very badly leads all
    # others; it counts as it is if unset.
    limit: PositiveFloat | None = None
    confidence: Share = 0.0  # teach only what the clean image's posterior is so sure of
    start: Share = 0.3  # at which part of the run it begins; it then grows over a tenth of the run
    share: Annotated[float, Field(gt=0, le=1)] = 0.5  # of the rows of a batch that are copied
    augment: AugmentSpec = AugmentSpec()  # how copies are altered


class TrainingSpec(_Strict):
    """The objective, how rows are drawn, and the optimiser."""

    # Where a Gaussian h begins: at its labelled rows, at EM's end from there, or from what a graph of neighbours tells.
    start: Literal["labels", "em", "graph"] = "labels"
    # Above 0, labels spread along a graph of neighbours tell how likely the classes of every other row are before
    # it is looked at; for so much of the run they stand in for its posterior, too.
    guess: Share = 0.0
    objective: Literal["sgd", "em"] = "sgd"  # equation 1 directly, or by EM with one step on M (Appendix B)
    clf_weight: Annotated[float, Field(ge=0)] = 0.0  # of L_clf, the labelled rows' cross-entropy, in nats a row
    clf_temperature: PositiveFloat = 1.0  # of the posterior in L_clf
    consistency: ConsistencySpec | None = None  # altered copies teach nothing if unset
    steps: PositiveInt = 1000  # of one restart, unless time or a plateau ends it
    batch_size: Annotated[int, Field(ge=2)] = 256  # one labelled and one hidden row at least
    # Rows that go through the model at once; the gradients of a batch's parts add up, so the steps are the same up to
    # rounding. A large batch wants less memory so, and a little more time. All at once if unset.
    part_size: Annotated[int, Field(ge=2)] | None = None  # of 1, not all processes would have as many parts
    labelled_share: Share | None = None  # of each batch; their share of the training rows if unset
    labelled_weight: Share | None = None  # in the objective; their share of the rows (equation 1) if unset
    # Decays geometrically to labelled_weight, so not from 0; no decay if unset.
    labelled_weight_start: Annotated[float, Field(gt=0, le=1)] | None = None
    labelled_decay: Share = 0.5  # at which part of the run the weight has decayed
    # While the labels' weight decays, rows without one may be clutter of this log-density above a Gaussian's. It falls,
    # so that classes grow along the rows they already tell, and the far ones join later. No row is clutter if unset.
    clutter: float | None = None
    noise: Annotated[float, Field(ge=0)] = 0.0  # Gaussian, in standard deviations of the column
    # muon: for the weights of f's nets, and of h's where it is alone; Adam for all else.
    optimizer: Literal["adam", "adamax", "muon"] = "adam"
    learning_rate: PositiveFloat = 2e-3  # the highest one
    muon_rate: PositiveFloat = 0.02  # the learning rate of what Muon moves
    h_rate: PositiveFloat = 1.0  # of h's parameters, times the learning rate
    # The last part of a run or round, in which f stands still and a new h learns alone from stored latents, by
    # likelihood: of classes that a graph has guessed (`guess`) or else the h before, in the end of its own posterior's.
    # It is taken where it makes the rows more likely than the h before. In too short a time h is not left alone at all.
    h_alone: Annotated[float, Field(ge=0, lt=1)] = 0.0
    # How often both parts come, f and h together and h alone, each time as long. From the second time on, what the h
    # that was alone says of a row without label stands in for its posterior while f goes on, and all rows count alike.
    # A limited time (`max_minutes`) has fewer of them if they would be too short.
    rounds: PositiveInt = 1
    warmup_steps: Annotated[int, Field(ge=0)] = 50  # in which the rate grows from 0
    decay_start: Annotated[float, Field(ge=0, lt=1)] = 0.0  # at which part of the run the rate begins to fall
    decay: Literal["cosine", "linear"] = "cosine"  # how the rate falls to 0
    betas: tuple[_Beta, _Beta] = (0.9, 0.99)  # of Adam and Adamax
    weight_decay: Annotated[float, Field(ge=0)] = 0.0  # apart from the gradient, as in AdamW
    clip: PositiveFloat = 10.0  # of the gradient's norm
    ema: Share = 0.99  # what the average of the weights keeps at a step; the average is the model
    n_init: PositiveInt = 1  # restarts, of which the best training objective wins
    max_minutes: PositiveFloat | None = None  # for all restarts; the schedule is fitted to it
    # Translate model and gradient to machine code first: faster steps, a minute or two later. Needs a C++ compiler.
    compile: bool = False
    # In which the nets compute while they learn: 32 bits, or bfloat16 with sums of products in 32 bits, which is faster
    # where a processor or GPU has units for it and much slower where not. All else has 32 bits.
    products: Literal["full", "bf16"] = "full"
    # The share of the rows without a label that is never trained on: the weights that tell them best are kept.
    holdout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    # So many steps without a better likelihood of those rows, and the rest of the schedule follows at once.
    patience: PositiveInt | None = None

    @model_validator(mode="after")
    def _patience_has_rows(self) -> "TrainingSpec":
        if self.patience is not None and not self.holdout:
            raise ValueError("patience watches rows that are kept aside: holdout must be above 0")
        return self

    @model_validator(mode="after")
    def _rounds_have_an_h_to_go_by(self) -> "TrainingSpec":
        if self.rounds > 1 and (not self.h_alone or self.guess):
            raise ValueError("rounds above 1 go by an h that was alone: h_alone must be above 0, and guess 0")
        return self

    @model_validator(mode="after")
    def _one_h_is_judged(self) -> "TrainingSpec":
        if self.holdout and self.h_alone:
            raise ValueError(
                "holdout keeps the best weights of one h, and h_alone takes another: one of them must be 0"
            )
        return self


class Recipe(_Strict):
    """A named model and its training."""

    name: str
    description: str = ""
    model: ModelSpec
    training: TrainingSpec = TrainingSpec()

    @model_validator(mode="after")
    def _h_can_learn(self) -> "Recipe":
        if self.training.h_alone and isinstance(self.model.h, FixedGaussiansSpec):
            raise ValueError("training.h_alone needs an h that learns, and fixed Gaussians do not: it must be 0")
        return self

    def without_words(self) -> "Recipe":
        """Return it without name and description, on which no fit depends."""
        return self.model_copy(update={"name": "", "description": ""})

    def essence(self) -> "Recipe":
        """Return it without words and without how fast it is trained: but for rounding, that makes no other fit."""
        training = self.training.model_copy(update={"compile": False, "products": "full"})
        return self.without_words().model_copy(update={"training": training})

    def without_limit(self) -> "Recipe":
        """Return it without the time that a fit may take."""
        return self.model_copy(update={"training": self.training.model_copy(update={"max_minutes": None})})
