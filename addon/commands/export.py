"""`bestbefore export --out DIR`: write learnt updates and logged requests as a trace for replay."""

import asyncio
import json
import math
import shlex
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click

from bestbefore.addon.admin.units import utc
from bestbefore.addon.clock import Clock
from bestbefore.addon.commands.store_flags import store_options
from bestbefore.addon.commands.store_options import config_and_clock, open_configured_store
from bestbefore.addon.config.load import Config
from bestbefore.addon.errors import InputError
from bestbefore.addon.rules import Rules
from bestbefore.addon.traffic.files import TrafficFiles
from bestbefore.addon.traffic.trace import REQUEST_COLUMNS, UPDATE_COLUMNS, WRITERS, ExportedRequests, ExportedUpdates
from bestbefore.policies.validation.machinery.spec import params, spec_text

_UPDATES, _REQUESTS = "updates", "requests"
"""The names of the files without the suffix of their format."""


@click.command("export", short_help="Export traffic and updates as a trace.")
@click.option("--out", "folder", required=True, type=click.Path(path_type=Path), metavar="DIR",
              help="Folder to write updates.csv and requests.csv to; it is created if missing.")
@store_options
@click.option("--format", "format_", type=click.Choice(list(WRITERS)), default="csv", show_default=True,
              help="Format of the files.")
@click.option("--force", is_flag=True, help="Overwrite the files of an earlier export in DIR.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as a JSON object.")
def command(
    folder: Path, config_file: Path | None, format_: str, *, force: bool, as_json: bool, **options: str | None
) -> None:
    """Export the updates that the proxy has learnt and the requests that it has logged, as a trace for replay.

    The proxy may keep running. Requests are logged only if the proxy's configuration says traffic_log = true.

    \b
      bestbefore export --out traffic --config proxy.toml
    """  # noqa: D301 - click keeps lines after a backspace
    config, clock = config_and_clock(config_file, options)
    _check(folder, force=force)
    updates, files = learnt(config, clock), TrafficFiles(config.settings.state)
    if not updates.known and not files.days():
        raise click.ClickException(f"there is nothing to export: no update was learnt yet, and {no_requests(config)}")
    requests = ExportedRequests(files)
    try:
        paths = _written(folder, format_, updates, requests)
    except OSError as error:
        # The user knows only the folder of a temporary file; other files are those of the log.
        is_ours = error.filename is None or Path(error.filename).is_relative_to(folder)
        raise click.ClickException(f"{folder if is_ours else error.filename}: {error.strerror}") from None
    lines = [_object(paths, updates, requests, config)] if as_json else _lines(paths, updates, requests, config)
    for line in lines:
        click.echo(line)


def _check(folder: Path, *, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is not a folder")
    there = next((path for path in _export_files(folder) if path.exists()), None)
    if there is not None and not force:
        raise InputError(f"{there}: exists already: give another folder, or --force to overwrite it")


def _export_files(folder: Path) -> list[Path]:
    return [folder / f"{name}.{ending}" for name in (_UPDATES, _REQUESTS) for ending in WRITERS]


def learnt(config: Config, clock: Clock) -> ExportedUpdates:
    """Return the updates of all objects in the store. Raises InputError and ClickException."""
    return asyncio.run(_learnt(config, clock))


async def _learnt(config: Config, clock: Clock) -> ExportedUpdates:
    updates = ExportedUpdates()
    async with open_configured_store(config, clock) as store:
        async for record in store.records():
            updates.add(record)
    return updates


def _written(folder: Path, format_: str, updates: ExportedUpdates, requests: ExportedRequests) -> dict[str, Path]:
    """Write the files atomically; that of requests only if there are any. Raises OSError."""
    write = WRITERS[format_]
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".export-", dir=folder) as made:
        new = {name: Path(made, f"{name}.{format_}") for name in (_UPDATES, _REQUESTS)}
        for path in new.values():
            path.touch(mode=0o600)
        with new[_REQUESTS].open("wb") as file:
            write(file, REQUEST_COLUMNS, requests.rows())
        with new[_UPDATES].open("wb") as file:
            write(file, UPDATE_COLUMNS, updates.rows())
        if not requests.count:
            new.pop(_REQUESTS)
        paths = {name: path.replace(folder / path.name) for name, path in new.items()}
    for path in _export_files(folder):
        if path not in paths.values():
            path.unlink(missing_ok=True)  # it is from another export
    return paths


def _object(
    paths: dict[str, Path], updates: ExportedUpdates, requests: ExportedRequests, config: Config
) -> str:
    return json.dumps({
        "files": {name: str(path) for name, path in paths.items()},
        "objects": updates.objects,
        "updates": len(updates.known),
        "requests": requests.count,
        "clients": len(requests.clients),
        "replay": " ".join(_replay(paths, updates, requests, config.rules)),
    })


def _lines(
    paths: dict[str, Path], updates: ExportedUpdates, requests: ExportedRequests, config: Config
) -> Iterator[str]:
    """Yield lines that describe the files, and the command that replays them."""
    yield f"{paths[_UPDATES]}: {_format_updates(updates)}"
    yield f"{paths[_REQUESTS]}: {_format_requests(requests)}" if requests.count else no_requests(config)
    yield "to replay this:"
    yield "  " + " \\\n    ".join(_replay(paths, updates, requests, config.rules))


def _format_updates(updates: ExportedUpdates) -> str:
    updated = len({url for _, url in updates.known})
    shown = f"{_number(len(updates.known), 'update')} of {_number(updated, 'object')}, of {updates.objects:,} known"
    if updates.known:
        shown += f", from {utc(min(updates.known)[0])} to {utc(max(updates.known)[0])}"
    if updates.in_intervals:
        shown += f"; {updates.in_intervals:,} in the middle between two contacts, since their times are not known"
    if updates.folded:
        shown += f"; {updates.folded:,} spread evenly over their hours, since no more is kept of them"
    return shown


def _format_requests(requests: ExportedRequests) -> str:
    return (
        f"{_number(requests.count, 'request')} for {_number(len(requests.objects), 'object')} by "
        f"{_number(len(requests.clients), 'client')}, from {utc(requests.first_s)} to {utc(requests.last_s)}"
    )


def no_requests(config: Config) -> str:
    """Return why no request is logged."""
    if config.settings.traffic_log:
        return "no request was logged yet"
    return "no requests are logged: for that, set traffic_log = true in [proxy] of the proxy's configuration"


def _replay(
    paths: dict[str, Path], updates: ExportedUpdates, requests: ExportedRequests, rules: Rules
) -> Iterator[str]:
    """Return the command that replays the export, in parts."""
    yield f"bestbefore replay --updates {shlex.quote(str(paths[_UPDATES]))}"
    if not requests.count:
        yield f"--refresh --origin {math.floor(updates.since_s or 0.0)} --group domain"
    else:
        yield f"--requests {shlex.quote(str(paths[_REQUESTS]))}"
        # With all digits, since it must not be before the earliest event in the files, to which it may be equal.
        yield f"--test-start {requests.first_s:.17g} --history observed --cache shared --group domain"
    policy = replace(rules.default.policy, siblings=1.0)  # the fast engines do not replay it with siblings
    yield f"--policy ttl --policy {shlex.quote(spec_text(policy.name, params(policy)))}"


def _number(n: int, thing: str) -> str:
    return f"{n:,} {thing}{'' if n == 1 else 's'}"
