"""What can go wrong for reasons that lie outside the code; the command line tells these in one sentence."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scnf.model import SemiConditionalFlow


class UserError(ValueError):
    """Something that was asked for cannot be done; the message names it and says what would be right."""


class DivergedError(RuntimeError):
    """Training met only NaN or infinite losses; ``model`` has the weights with which the last finite one was met."""

    model: "SemiConditionalFlow | None" = None
