"""The parser of [proxy] and the command-line options, which become the settings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bestbefore.addon.config import values
from bestbefore.addon.config.problems import Problems
from bestbefore.addon.config.settings import MOST_WORKERS, TRAFFIC_CLIENTS, Settings
from bestbefore.addon.config.values import Reader

_SMALLEST_STORE_BYTES = 1 << 20
_SMALLEST_IN_FLIGHT_BYTES = 1 << 20


def _readers(folder: Path) -> Mapping[str, Reader[Any]]:
    """Return the reader of each key of [proxy]; relative paths are relative to `folder`."""
    return {
        "listen": values.address,
        "workers": values.whole_number(1, MOST_WORKERS),
        "mode": values.mode,
        "state": values.path_from(folder),
        "store": values.store,
        "admin": lambda value: None if value == "off" else values.address(value),
        "admin_credentials": values.credentials_from(folder),
        "store_max": values.size_bytes(_SMALLEST_STORE_BYTES),
        "hot_max": values.size_bytes(),
        "in_flight_max": values.size_bytes(_SMALLEST_IN_FLIGHT_BYTES),
        "max_cached_body": values.size_bytes(),
        "max_cached_file": values.size_bytes(),
        "files_max": values.size_bytes(),
        "keep": values.duration_s,
        "stale_if_down": values.duration_s,
        "offline": values.boolean,
        "targeted": values.list_of(values.field_name),
        "via_request": values.boolean,
        "traffic_log": values.boolean,
        "traffic_keep": values.duration_s,
        "traffic_clients": values.one_of(TRAFFIC_CLIENTS),
        "log_format": values.log_format,
        "log_file": values.path_from(folder),
        "log_keep": values.duration_s,
        "log_query": values.boolean,
        "passthrough": values.list_of(values.host_pattern),
        "allow_clients": values.list_of(values.network),
        "proxy_protocol_from": values.list_of(values.network),
        "credentials": values.credentials_from(folder),
        "connect_ports": lambda value: frozenset(values.list_of(values.port)(value)),
        "upstream": values.server,
        "connect_timeout": values.timeout_s,
        "head_timeout": values.timeout_s,
        "read_timeout": values.timeout_s,
        "idle_timeout": values.timeout_s,
    }


PROXY_KEYS = tuple(_readers(Path()))


def read_settings(
    table: Mapping[str, object],
    folder: Path,
    options: Mapping[str, object],
    environ: Mapping[str, str],
    problems: Problems,
) -> Settings:
    """Parse the settings: options override the file, the file overrides defaults. Malformed keys take the default."""
    given = {key: value for key, value in options.items() if value is not None}
    read = problems.read_keys(("proxy",), table, _readers(folder)) | problems.read_options(given, _readers(Path()))
    # Absolute, since it is shown to users, who may read it in another folder.
    read["state"] = (read.get("state") or default_state(environ)).absolute()
    settings = Settings(**read)
    if not settings.listen.is_loopback and not {"allow_clients", "credentials"} & {*table, *given}:
        message = "beyond loopback, anyone could use the proxy: set allow_clients or credentials too"
        if "listen" in given:
            problems.add_option("listen", given["listen"], message)
        else:
            problems.add_value(("proxy", "listen"), table["listen"], message)
    if settings.log_keep is not None and settings.log_file is None:
        problems.add_value(("proxy", "log_keep"), table["log_keep"], "there is no log file to keep: set log_file too")
    return settings


def default_state(environ: Mapping[str, str]) -> Path:
    """Return $XDG_STATE_HOME/bestbefore. A relative path is ignored, as the XDG specification requires."""
    home = Path(environ.get("XDG_STATE_HOME", ""))
    if not home.is_absolute():
        home = Path(environ.get("HOME") or "/", ".local", "state")
    return home / "bestbefore"
