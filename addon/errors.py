"""The error of a user's input, which the command line shows as plain lines."""

from typing import ClassVar

import click


class InputError(click.ClickException):
    """An error in the user's input: exit status 2.

    The message is for the user: one line for each thing that is wrong, which names file, line, value and what was
    expected. (An error that is not the user's input, such as a port in use, is a click.ClickException: exit status 1.)
    """

    exit_code: ClassVar[int] = 2
