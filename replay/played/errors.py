"""The error of a replay through the addon."""

import click


class PlayError(click.ClickException):
    """The addon stored no copy, answered with an error, or lost its store; the replay is stopped without counts."""

    def format_message(self) -> str:
        return f"--through addon: {self.message}"
