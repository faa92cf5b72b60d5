"""`bestbefore man [COMMAND]`: print or write manual pages, made of what `--help` shows."""

import os
from pathlib import Path

import click

from bestbefore.addon.commands.upkeep.roff import EXTENSION, main_page, page
from bestbefore.addon.errors import InputError


@click.command("man")
@click.argument("name", metavar="[COMMAND]", required=False)
@click.option("--out", "folder", type=click.Path(path_type=Path, file_okay=False), metavar="DIR",
              help="Write the pages of all commands to this folder, which is created if missing.")
@click.pass_context
def command(ctx: click.Context, name: str | None, folder: Path | None) -> None:
    """Print the manual page of COMMAND, or of bestbefore itself, for man; or write those of all commands.

    \b
      bestbefore man show | man -l -
      bestbefore man --out ~/.local/share/man/man1
    """  # noqa: D301 - click keeps lines after a backspace
    group = ctx.find_root().command
    assert isinstance(group, click.Group)
    names = group.list_commands(ctx)
    if name is not None and name not in names:
        raise InputError(f"{name}: no such command: expected one of {', '.join(names)}")
    if folder is None:
        click.echo(main_page(group) if name is None else page(group, name), nl=False)
        return
    if name is not None:
        raise InputError("--out writes the pages of all commands: leave out COMMAND")
    pages = {"bestbefore": main_page(group), **{f"bestbefore-{one}": page(group, one) for one in names}}
    folder.mkdir(parents=True, exist_ok=True)
    for stem, text in pages.items():
        (folder / f"{stem}{EXTENSION}").write_text(text)
    click.echo(f"{folder}{os.sep}: {len(pages)} pages; read them with: man {folder / f'bestbefore{EXTENSION}'}")
