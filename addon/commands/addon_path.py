"""`bestbefore addon-path`: print the path of the file for `mitmdump -s`."""

from importlib.resources import files

import click


@click.command("addon-path")
def command() -> None:
    """Print the path of the addon, for mitmdump -s "$(bestbefore addon-path)"."""
    click.echo(files("bestbefore.addon.entry") / "bestbefore_addon.py")
