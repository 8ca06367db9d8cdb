"""What can go wrong for reasons that lie outside the code; the command line tells these in one sentence."""


class UserError(ValueError):
    """Something that was asked for cannot be done; the message names it and says what would be right."""


class DivergedError(RuntimeError):
    """Training met only NaN or infinite losses; the last good weights are kept."""
