"""Hot reload: the configuration follows changes of its files; an invalid one leaves the last valid one in force."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple, Protocol

from bestbefore.addon.config.load import Config, load_config, load_text
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.config.settings import HOT_KEYS, Settings
from bestbefore.addon.rules import Rules

UNNAMED = Path("bestbefore.toml")
"""How a configuration is called in messages if there is no file of it."""


class _FileState(NamedTuple):
    """The attributes that identify a version of the file."""

    modified_ns: int
    changed_ns: int
    """It changes also when owner or permissions are corrected."""
    size_bytes: int
    inode: int
    """It changes when another file is renamed to the path."""


@dataclass(frozen=True, slots=True)
class Reloaded:
    """The result of a change that took effect."""

    config: Config
    need_restart: tuple[str, ...]
    """The keys of [proxy], or `[hub]`, that were changed in the file, but take effect only at the next start."""


@dataclass(frozen=True, slots=True)
class Refused:
    """The result of a change that cannot be used; the configuration before it stays in force."""

    message: str
    """One line for each error."""


class ConfigSource(Protocol):
    """The configuration in force, and what changes it."""

    @property
    def path(self) -> Path | None:
        """The configuration file."""

    @property
    def config(self) -> Config:
        """The configuration in force."""

    def poll(self) -> Reloaded | Refused | None:
        """Return the result of a change, once; None if there is none."""

    def checked(self, toml: str) -> Config:
        """Return the configuration that would be loaded from the file, if it had this text. Raises ConfigError."""

    def switch(self, *, offline: bool) -> None:
        """Set `offline` in place of what the file has, from the next `poll` on until the process ends."""


class ConfigWatch:
    """The configuration in force, which follows changes of its files. `poll` must be called about once a second.

    They are its own and those that it names: of users, of authorities, of feeds. Changed files are read only if they
    are unchanged since the call before, because they may still be being written. Each change is reported once.
    """

    def __init__(self, path: Path | None, options: Mapping[str, object] | None = None) -> None:
        """Loads the configuration; raises ConfigError if it cannot be used. Without a path it never changes."""
        self.path = path
        self._options = options
        states = {} if path is None else {path: _state_of(path)}
        self._refused = False
        self._offline: bool | None = None
        self.config = load_config(path, options)
        """The configuration in force."""
        self._seen = self._answered = self._states(states)

    def poll(self) -> Reloaded | Refused | None:
        """Return the result of a change of the files; None if there is none, or the change has no effect."""
        switched = self._switched(self.config)
        if switched != self.config:
            self.config = switched
            return Reloaded(switched, ())
        states = self._states({})
        keeps_still = states == self._seen
        self._seen = states
        if states == self._answered or not keeps_still:
            return None
        users_file = self.config.settings.credentials
        same_users = users_file is None or states[users_file] == self._answered.get(users_file)
        self._answered = states
        own = states.get(self.path) if self.path is not None else None
        if isinstance(own, _FileState) and own.size_bytes == 0:
            return self._refuse(f"{self.path}: empty, as if it were still being written")
        try:
            new = self._switched(load_config(self.path, self._options))
        except ConfigError as error:
            return self._refuse(error.message)
        effective = _effective(self.config, new)
        need_restart = tuple(
            field.name
            for field in fields(Settings)
            if getattr(new.settings, field.name) != getattr(effective.settings, field.name)
        ) + tuple(f"[{name}]" for name in ("hub", "websub") if getattr(new, name) != getattr(effective, name))
        if effective == self.config and not need_restart and not self._refused and same_users:
            return None
        self._refused = False
        self.config = effective
        self._seen = self._answered = self._states(states)
        return Reloaded(effective, need_restart)

    def switch(self, *, offline: bool) -> None:
        """Set `offline` in place of what the file has, from the next `poll` on until the process ends."""
        self._offline = offline

    def checked(self, toml: str) -> Config:
        """Return the configuration that would be loaded from the file, if it had this text. Raises ConfigError."""
        return self._switched(load_text(toml, self.path or UNNAMED, self._options))

    def _switched(self, config: Config) -> Config:
        if self._offline is None or config.settings.offline == self._offline:
            return config
        return replace(config, settings=replace(config.settings, offline=self._offline))

    def _refuse(self, why: str) -> Refused:
        self._refused = True
        return Refused(f"{why}\nthe configuration before this change stays in force")

    def _states(self, known: Mapping[Path, _FileState | str]) -> Mapping[Path, _FileState | str]:
        """Return the states of the files of the configuration in force, of which some are known."""
        rules = (self.config.rules.default, *self.config.rules.domains)
        files = {Path(rule.origin_ca.file) for rule in rules if rule.origin_ca is not None}
        if self.config.prefetch.opml is not None:
            files.add(Path(self.config.prefetch.opml.file))
        if self.config.settings.credentials is not None:
            files.add(self.config.settings.credentials)  # which the configuration only names
        if self.path is not None:
            files.add(self.path)
        return {path: known[path] if path in known else _state_of(path) for path in files}


def _state_of(path: Path) -> _FileState | str:
    """Return the state of a file, or why it cannot be read."""
    try:
        stat = path.stat()
    except OSError as error:
        return error.strerror or str(error)
    return _FileState(stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)


def _effective(running: Config, new: Config) -> Config:
    """Return the new configuration, with the running values of the keys that need a restart."""
    hot = {key: getattr(new.settings, key) for key in HOT_KEYS}
    settings = replace(running.settings, **hot)
    # One setting in the rules needs a restart.
    rules = [replace(rule, stale_if_down_s=settings.stale_if_down) for rule in (new.rules.default, *new.rules.domains)]
    return Config(settings, Rules(rules[0], tuple(rules[1:])), new.prefetch, running.hub, running.websub)
