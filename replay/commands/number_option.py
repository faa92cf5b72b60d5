"""The parsing of an option that is a number."""

import math
from collections.abc import Callable

import click

from bestbefore.addon.errors import InputError


def number(
    expected: str, accepts: Callable[[float], bool], read: Callable[[str], float] = float
) -> Callable[..., float | None]:
    """Make a click callback that parses a number; an InputError says what was expected."""

    def parse(_ctx: click.Context, param: click.Parameter, value: str | None) -> float | None:
        if value is None:
            return None
        try:
            found = math.nan if "_" in value else read(value)  # float accepts 1_000
        except ValueError:
            found = math.nan
        if not accepts(found):
            raise InputError(f"{param.opts[0]} {value}: expected {expected}")
        return found

    return parse


def is_positive(value: float) -> bool:
    """Whether a number is finite and above 0."""
    return 0.0 < value < math.inf
