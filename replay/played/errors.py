"""The error of a replay through the addon, which the command line shows as one line."""

import click


class PlayError(click.ClickException):
    """The addon did not do what is counted, or did it without its store: nothing is counted. The message says why."""

    def format_message(self) -> str:
        return f"--through addon: {self.message}"
