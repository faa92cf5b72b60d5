"""The messages of a command on stderr, each a line that begins with the name of the command."""

import click


def say(message: str) -> None:
    """Print a message of the command that is running."""
    click.echo(f"bestbefore {click.get_current_context().info_name}: {message}", err=True)


def warn(message: str) -> None:
    """Print a warning of the command that is running."""
    say(f"warning: {message}")
