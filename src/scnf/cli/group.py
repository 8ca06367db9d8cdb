"""How commands look in the help, and the one place where errors become a sentence and an exit code."""

import errno
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from scnf.errors import DivergedError, UserError


def _without_types_of_flags(params: list[Any]) -> list[Any]:
    """Keep the help from telling that a flag is a ``<bool>``: it takes no value."""
    for param in params:
        if getattr(param, "is_flag", False) and param.metavar is None:
            param.metavar = ""
    return params


class Command(TyperCommand):
    """A command with plain flags in its help."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_of_flags(super().get_params(ctx))


class Group(TyperGroup):
    """A command group with plain flags in its help."""

    def get_params(self, ctx: Any) -> list[Any]:
        return _without_types_of_flags(super().get_params(ctx))


class Root(Group):
    """The group above all: what the user can mend is told in one sentence, any other error is a bug and is traced.

    Exit codes: 1 training diverged, 2 something asked for is wrong or missing, 130 stopped by Ctrl-C.
    """

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UserError as error:
            _leave(str(error), 2)
        except DivergedError as error:
            _leave(str(error), 1)
        except KeyboardInterrupt as error:
            _leave(str(error) or "stopped", 130)
        except OSError as error:
            if error.errno == errno.EPIPE:  # whoever read our output has had enough: no error
                raise
            _leave(f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)


def _leave(sentence: str, code: int) -> NoReturn:
    typer.echo(f"Error: {sentence}" if code != 130 else sentence, err=True)
    raise typer.Exit(code)
