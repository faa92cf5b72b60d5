"""The error of a user's input, which the command line shows as plain lines, and the text of errors of the system."""

from typing import ClassVar

import click


class InputError(click.ClickException):
    """An error in the user's input: exit status 2.

    The message is for the user: one line for each thing that is wrong, which names file, line, value and what was
    expected. (An error that is not the user's input, such as a port in use, is a click.ClickException: exit status 1.)
    """

    exit_code: ClassVar[int] = 2


def reason_of(error: OSError) -> str:
    """Return what the system says, with the file if it names one (it does not where a write fails on a full disk)."""
    said = error.strerror or str(error)
    return f"{said}: {error.filename}" if error.filename else said
