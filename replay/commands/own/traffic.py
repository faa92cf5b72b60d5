"""What a proxy has learnt and logged, as a trace in memory: what `bestbefore export` writes to files."""

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np

from bestbefore.addon.config.load import Config
from bestbefore.addon.errors import InputError
from bestbefore.replay.commands.progress import spinner
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.names import NameColumn


@dataclass(frozen=True, slots=True)
class OwnTraffic:
    """The configuration of a proxy, and its traffic."""

    config: Config
    toml: str
    """The text of the configuration; empty without a file."""
    updates: Updates
    requests: Requests


def read_own(config_file: Path | None, options: Mapping[str, str | None]) -> OwnTraffic:
    """Read the histories in the store, and the traffic log in the state folder, while the proxy runs or not.

    Raises InputError, and ClickException if there is no logged request.
    """
    # Only here: the store and its client are not needed for the trace in a file.
    from bestbefore.addon.commands.export import learnt, no_requests
    from bestbefore.addon.commands.store_options import config_and_clock
    from bestbefore.addon.traffic.files import TrafficFiles
    from bestbefore.addon.traffic.trace import ExportedRequests

    config, clock = config_and_clock(config_file, options)
    with spinner("reading what was learnt"):
        updates = learnt(config, clock)
        requests = ExportedRequests(TrafficFiles(config.settings.state))
        times, clients, objects = array("d"), NameColumn(), NameColumn()
        for one in requests.logged():
            times.append(one.time_s)
            clients.append(one.client)
            objects.append(one.url)
    if not requests.count:
        raise click.ClickException(f"there is no traffic of the proxy to learn from: {no_requests(config)}")
    known = NameColumn()
    for _, url in sorted(updates.known):
        known.append(url)
    at = np.array(sorted(time_s for time_s, _ in updates.known), dtype=np.float64)
    return OwnTraffic(
        config,
        _text(config_file),
        Updates.of(at, known.ids, known.names),
        Requests.of(np.asarray(times), clients.ids, objects.ids, clients.names, objects.names),
    )


def _text(config_file: Path | None) -> str:
    if config_file is None:
        return ""
    try:
        return config_file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:  # it could be read a moment ago
        raise InputError(f"{config_file}: {error}") from None
