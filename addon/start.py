"""Where the command line begins: before anything is imported, so that Ctrl-C ends it quietly from the first moment."""

import sys


def main() -> None:
    """As `cli.main`."""
    try:
        from bestbefore.addon import cli

        cli.main()
    except KeyboardInterrupt:
        sys.exit(130)
