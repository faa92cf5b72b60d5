"""The command line: a table of commands, imported when they run, and the conversion of errors to text.

Laziness is not only for speed. `--help` and `replay` never import mitmproxy (0.3 s), and the packages stay in layers:
this module knows the commands of `bestbefore.replay` by name alone.
"""

import difflib
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version

import click
from click.shell_completion import CompletionItem

from bestbefore.addon.interrupt import INTERRUPTED, importing


@dataclass(frozen=True, slots=True)
class LazyCommand:
    """The module of a command, and its line in the list of `--help`."""

    module: str
    help: str
    live_module: str | None = None
    """The module of the command that replaces it with `--live`, which reads the store of a proxy."""

    def load(self, *, live: bool = False) -> click.Command:
        name = self.live_module if live and self.live_module is not None else self.module
        with importing():
            loaded = importlib.import_module(name).command
        assert isinstance(loaded, click.Command)
        return loaded


COMMANDS: Mapping[str, LazyCommand] = {
    "proxy": LazyCommand("bestbefore.addon.commands.proxy", "Run the caching proxy."),
    "hub": LazyCommand("bestbefore.addon.commands.hub", "Run a proxy that sends what it refreshes to others."),
    "run": LazyCommand("bestbefore.addon.commands.run", "Run a command that uses a running proxy."),
    "replay": LazyCommand("bestbefore.replay.commands.replay", "Replay a trace under policies."),
    "recommend": LazyCommand("bestbefore.replay.commands.recommend", "Find the best policy for each domain."),
    "evaluate": LazyCommand("bestbefore.replay.commands.evaluate", "Compare policies at equal stale rates."),
    "convert": LazyCommand("bestbefore.replay.commands.convert", "Convert a log or trace to columns."),
    "plan": LazyCommand(
        "bestbefore.replay.commands.plan",
        "Plan contacts; --live: show a proxy's plan.",
        live_module="bestbefore.addon.commands.plan_live",
    ),
    "multicast": LazyCommand("bestbefore.replay.commands.multicast", "Simulate a channel to subscribers."),
    "papers": LazyCommand("bestbefore.replay.commands.papers", "Reproduce tables and figures of the papers."),
    "show": LazyCommand("bestbefore.addon.commands.show", "Show what was learnt about a URL."),
    "tail": LazyCommand("bestbefore.addon.commands.upkeep.tail", "Follow the requests, from the log or the proxy."),
    "top": LazyCommand("bestbefore.addon.commands.upkeep.top", "Show the counts of a running proxy as they change."),
    "purge": LazyCommand("bestbefore.addon.commands.purge", "Remove copies."),
    "forget": LazyCommand("bestbefore.addon.commands.forget", "Remove copies and histories."),
    "tunnels": LazyCommand("bestbefore.addon.commands.tunnels", "List and lift tunnels of clients without the CA."),
    "backup": LazyCommand("bestbefore.addon.commands.upkeep.backup", "Save what was learnt to a file."),
    "restore": LazyCommand("bestbefore.addon.commands.upkeep.restore", "Restore what was learnt from a file."),
    "export": LazyCommand("bestbefore.addon.commands.export", "Export traffic and updates as a trace."),
    "policies": LazyCommand("bestbefore.addon.commands.policies", "List the validation policies and their parameters."),
    "doctor": LazyCommand("bestbefore.addon.commands.upkeep.doctor", "Check the proxy, its store and its clients."),
    "check-config": LazyCommand("bestbefore.addon.commands.check_config", "Check and summarise a configuration file."),
    "completion": LazyCommand("bestbefore.addon.commands.upkeep.completion", "Print the completion for a shell."),
    "man": LazyCommand("bestbefore.addon.commands.upkeep.manual", "Print or write manual pages."),
    "addon-path": LazyCommand("bestbefore.addon.commands.addon_path", "Print the path of the addon for mitmdump -s."),
}


class LazyGroup(click.Group):
    """A group whose commands are those of `COMMANDS`; listing them imports none."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = COMMANDS.get(cmd_name)
        return None if entry is None else entry.load()

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not ctx.resilient_parsing:
            nearest = difflib.get_close_matches(name, COMMANDS, n=1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"expected one of {', '.join(COMMANDS)}"
            raise click.UsageError(f"no such command {name!r}: {hint}", ctx)
        if "--live" in args[1:] and name in COMMANDS:
            return name, COMMANDS[name].load(live=True), args[1:]
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names of commands and options, as click does, but without importing the commands."""
        named = [CompletionItem(name, help=one.help) for name, one in COMMANDS.items() if name.startswith(incomplete)]
        return named + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version("bestbefore"), prog_name="bestbefore", message="%(prog)s %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """A caching forward proxy that learns when the web changes."""
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help(), err=True)
        ctx.exit(2)


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit with the status that `run` returns."""
    status = run(args)
    try:
        if sys.stdout is not None:  # it is None where the caller closed it
            sys.stdout.flush()
    except OSError:
        # The reader is gone or the disk is full. The interpreter would try again at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = status or 1
    sys.exit(status)


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit status: 0 done, 2 the user's input is wrong, 130 interrupted, else 1.

    Every error is one plain line on stderr (one for each error of a configuration). With BESTBEFORE_DEBUG=1 an
    unexpected error is raised instead, with its traceback. A closed pipe, as by `head`, is not reported.
    """
    try:
        status = cli.main(args, prog_name="bestbefore", standalone_mode=False)
    except click.Abort:
        return INTERRUPTED
    except click.UsageError as error:
        # click lists the choices of a missing option in lines of their own.
        _say(" ".join(error.format_message().split()), "bestbefore" if error.ctx is None else error.ctx.command_path)
        return error.exit_code
    except click.ClickException as error:
        _say(error.format_message())
        return error.exit_code
    except BrokenPipeError:
        return 1
    except Exception as error:
        if os.environ.get("BESTBEFORE_DEBUG") == "1":
            raise
        _say(_in_one_line(error))
        return 1
    return status if isinstance(status, int) else 0


def _say(message: str, command_path: str = "bestbefore") -> None:
    with suppress(OSError):  # standard error may be closed
        for line in message.split("\n"):
            click.echo(f"{command_path}: {line}", err=True)


def _in_one_line(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return name + error.strerror
    text = " ".join(str(error).split())
    return f"unexpected {type(error).__name__}: {text} (BESTBEFORE_DEBUG=1 shows where)"
