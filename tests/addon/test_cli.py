import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import click
import pytest

from bestbefore.addon import cli
from bestbefore.addon.errors import InputError

Run = Callable[[], object]


def command_line(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    script = "from bestbefore.addon.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", script, *args], capture_output=True, text=True, check=False, env=os.environ | environ
    )


@pytest.fixture
def try_command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Run], int]:
    """Runs `bestbefore try` with a body of the test's own, and returns the exit status."""

    def run(body: Run) -> int:
        module = ModuleType("tried")
        module.command = click.command("try")(lambda: body())
        monkeypatch.setitem(sys.modules, "tried", module)
        monkeypatch.setitem(cli.COMMANDS, "try", cli.LazyCommand("tried", ""))
        return cli.run(["try"])

    return run


def raising(error: BaseException) -> Run:
    def body() -> None:
        raise error

    return body


@pytest.mark.parametrize("name", cli.COMMANDS)
def test_each_command_of_the_table_loads_under_its_own_name(name: str) -> None:
    assert cli.COMMANDS[name].load().name == name


@pytest.mark.parametrize("name", [name for name, entry in cli.COMMANDS.items() if entry.live_module is not None])
def test_a_command_that_is_another_one_with_live_loads_under_the_same_name(name: str) -> None:
    entry = cli.COMMANDS[name]
    assert entry.load(live=True).name == name
    assert entry.load(live=True) is not entry.load()


def test_live_is_an_option_of_those_commands_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["plan", "--live", "--help"]) == 0
    assert "--state DIR" in capsys.readouterr().out
    assert cli.run(["show", "--live"]) == 2
    assert "No such option '--live'" in capsys.readouterr().err


def test_help_lists_each_command_with_its_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for name, entry in cli.COMMANDS.items():
        assert any(line.split() == [name, *entry.help.split()] for line in lines)


def test_help_imports_no_command_and_neither_mitmproxy_nor_numpy() -> None:
    script = """
import sys
from bestbefore.addon.cli import run
run(["--help"])
heavy = {"mitmproxy", "numpy", "redis", "aiohttp", "bestbefore.addon.config", "bestbefore.replay"}
sys.exit(" ".join(heavy & set(sys.modules)) or 0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_version_is_that_of_the_package() -> None:
    done = command_line("--version")
    assert (done.returncode, done.stdout) == (0, f"bestbefore {version('bestbefore')}\n")


def test_without_a_command_the_help_goes_to_stderr_and_the_status_is_2() -> None:
    done = command_line()
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("Usage: bestbefore ")


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["replya"], "bestbefore: no such command 'replya': did you mean 'replay'?"),
        (["chekc-config"], "bestbefore: no such command 'chekc-config': did you mean 'check-config'?"),
        (["xyzzy"], f"bestbefore: no such command 'xyzzy': expected one of {', '.join(cli.COMMANDS)}"),
        (["--verson"], "bestbefore: No such option '--verson'. Did you mean '--version'?"),
        (
            ["plan", "--budget=9"],
            "bestbefore: expected either --budget N and --objective freshness, age or delay, or --target MEASURE=VALUE",
        ),
        (["addon-path", "--hepl"], "bestbefore addon-path: No such option '--hepl'. Did you mean '--help'?"),
        (["addon-path", "x"], "bestbefore addon-path: Got unexpected extra argument (x)"),
    ],
)
def test_a_mistyped_command_line_is_one_line_with_the_nearest_name(args: list[str], line: str) -> None:
    done = command_line(*args)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line + "\n")


def test_wrong_input_is_shown_line_by_line(
    try_command: Callable[[Run], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert try_command(raising(InputError("a.toml:1: bad\na.toml:2: worse"))) == 2
    assert capsys.readouterr().err == "bestbefore: a.toml:1: bad\nbestbefore: a.toml:2: worse\n"


def test_an_error_that_is_not_the_users_input_is_status_1(
    try_command: Callable[[Run], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert try_command(raising(click.ClickException("port 8080 is in use"))) == 1
    assert capsys.readouterr().err == "bestbefore: port 8080 is in use\n"


def test_an_unexpected_error_is_one_line_without_traceback(
    try_command: Callable[[Run], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert try_command(raising(RuntimeError("two\nlines"))) == 1
    err = capsys.readouterr().err
    assert err == "bestbefore: unexpected RuntimeError: two lines (BESTBEFORE_DEBUG=1 shows where)\n"


def test_an_operating_system_error_names_its_file(
    try_command: Callable[[Run], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert try_command(raising(PermissionError(13, "Permission denied", "/var/x"))) == 1
    assert capsys.readouterr().err == "bestbefore: /var/x: Permission denied\n"


def test_debugging_raises_the_unexpected_error(
    try_command: Callable[[Run], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BESTBEFORE_DEBUG", "1")
    with pytest.raises(RuntimeError):
        try_command(raising(RuntimeError("seen")))


def test_an_interrupt_ends_quietly_with_130(
    try_command: Callable[[Run], int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert try_command(raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err.strip() == ""


def test_the_exit_status_that_a_command_asks_for_is_kept(try_command: Callable[[Run], int]) -> None:
    assert try_command(lambda: click.get_current_context().exit(3)) == 3
    assert try_command(lambda: None) == 0


def test_a_reader_that_goes_away_gets_no_complaint() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    script = "from bestbefore.addon.cli import main; main(['addon-path'])"
    done = subprocess.run(
        [sys.executable, "-c", script], stdout=write_end, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line() -> None:
    script = "from bestbefore.addon.cli import main; main(['addon-path'])"
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", script], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (1, "bestbefore: No space left on device\n")


UNITS = {
    "DIR": r"[Ff]older",
    "FILE": r"file|TOML|log|CSV",
    "DURATION": r"seconds.*\bs, m, h or d\b",
    "ADDRESS": r"address",
    "HOST|PATTERN": r"host, .*DOMAIN",
    "HOST:PORT": r"[Aa]ddress",
    "HOST:PORT|off": r"[Aa]ddress",
    "N": r"[Nn]umber",
    "N[,N...]": r"[Nn]umber",
    "MEASURE=VALUE": r"freshness=0\.8.*delay=10m",
    "PATTERN": r"example\.org|once",
    "SIZE": r"bytes",
    "NAME": r"[Ff]ormat|Names: |[Ss]ite",
    "PERCENT/PERCENT": r"\d+/\d+",
    "COLUMN": r"[Cc]olumn",
    "SHARE": r"\d%",
    "SPEC": r"KEY=VALUE",
    "UNIX_SECONDS": r"[Tt]ime",
    "embedded|URL": r"redis://",
    "forward|reverse:URL": r"proxy",
    "line|json|combined|squid|TEMPLATE": r"[Ff]ormat",
    "WORD": r"reason",
    "URL|off": r"requested",
    "URL": r"http://|rediss://",
}
"""By metavar, what the help of an option with such a value must say: its unit, its format, or what it names."""


def options_with_values() -> list[object]:
    found = []
    for name, entry in cli.COMMANDS.items():
        for live in (False, True) if entry.live_module else (False,):
            command = entry.load(live=live)
            context = click.Context(command)
            found += [
                pytest.param(option, context, id=f"{name}{' --live' * live} {option.opts[0]}")
                for option in command.params
                if isinstance(option, click.Option) and not option.is_flag
            ]
    return found


@pytest.mark.parametrize(("option", "context"), options_with_values())
def test_the_help_of_each_option_names_what_its_value_is(option: click.Option, context: click.Context) -> None:
    assert option.help is not None
    assert option.help[0].isupper()
    assert option.help.endswith(".")
    if not isinstance(option.type, click.Choice):
        assert re.search(UNITS[option.make_metavar(context)], option.help)


@pytest.mark.parametrize("name", list(cli.COMMANDS))
def test_the_help_of_each_command_has_examples_with_options_that_exist(name: str) -> None:
    entry = cli.COMMANDS[name]
    for live in (False, True) if entry.live_module else (False,):
        examples = re.findall(r"^ +bestbefore (.*)$", entry.load(live=live).help or "", re.MULTILINE)
        lines = [re.split(r" +# | \| | > ", example)[0] for example in examples]
        assert lines
        for used, *words in map(shlex.split, lines):
            command = cli.COMMANDS[used].load(live="--live" in words)
            known = {"--live"} | {option for one in command.params for option in one.opts}
            given = words[: words.index("--")] if "--" in words else words
            assert {word for word in given if word.startswith("--")} <= known
