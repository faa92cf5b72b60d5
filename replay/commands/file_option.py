"""An option for one file, which refuses a second value."""

from collections.abc import Callable
from pathlib import Path

import click

from bestbefore.addon.errors import InputError


def file_option(option: str, name: str, help_: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """Make the option `option FILE` for the parameter `name`: a Path, or None by default."""
    path = click.Path(path_type=Path)
    return click.option(option, name, type=path, multiple=True, callback=_only, metavar="FILE", help=help_)


def _only(_ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> Path | None:
    if len(paths) > 1:
        raise InputError(f"{param.opts[0]} {paths[1]}: given twice, expected one file (first {paths[0]})")
    return paths[0] if paths else None
