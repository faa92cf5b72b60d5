"""The entry point of the command line, before anything is imported: Ctrl-C ends it quietly from the first moment."""

import sys

NEEDED = (3, 12)


def main() -> None:
    """Run `cli.main`, if the interpreter is new enough for the syntax of what it imports."""
    if sys.version_info < NEEDED:
        sys.exit(
            f"bestbefore needs Python {NEEDED[0]}.{NEEDED[1]} or newer; "
            f"this is {sys.version_info[0]}.{sys.version_info[1]} ({sys.executable})"
        )
    try:
        from bestbefore.addon.interrupt import importing

        with importing():
            from bestbefore.addon import cli

        cli.main()
    except KeyboardInterrupt:
        sys.exit(130)
