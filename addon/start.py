"""The entry point of the command line, before anything is imported: Ctrl-C ends it quietly from the first moment."""

import sys


def main() -> None:
    """Run `cli.main`."""
    try:
        from bestbefore.addon import cli

        cli.main()
    except KeyboardInterrupt:
        sys.exit(130)
