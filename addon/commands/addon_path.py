"""`bestbefore addon-path`: print the path of the file for `mitmdump -s`."""

import json
from importlib.resources import files

import click


@click.command("addon-path")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(*, as_json: bool) -> None:
    """Print the path of the addon, for a stock mitmdump.

    \b
      mitmdump -s "$(bestbefore addon-path)"
      bestbefore addon-path --json
    """  # noqa: D301 - click keeps lines after a backspace
    path = str(files("bestbefore.addon.entry") / "bestbefore_addon.py")
    click.echo(json.dumps({"path": path}) if as_json else path)
