"""An option that names one file: named twice it is refused, since what the first holds would be left out unsaid."""

from collections.abc import Callable
from pathlib import Path

import click

from bestbefore.addon.errors import InputError


def file_option(option: str, name: str, help_: str) -> Callable[[Callable[..., object]], Callable[..., object]]:
    """`option FILE`, as the parameter `name`: a Path, or None if it is not given."""
    path = click.Path(path_type=Path)
    return click.option(option, name, type=path, multiple=True, callback=_only, metavar="FILE", help=help_)


def _only(_ctx: click.Context, param: click.Parameter, paths: tuple[Path, ...]) -> Path | None:
    if len(paths) > 1:
        raise InputError(f"{param.opts[0]} {paths[1]}: expected one file, {paths[0]} is named before it")
    return paths[0] if paths else None
