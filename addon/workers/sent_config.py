"""The configuration of a worker."""

from pathlib import Path

from bestbefore.addon.config.load import Config, load_text
from bestbefore.addon.config.watch import Refused, Reloaded


class SentConfig:
    """The configuration that a supervisor sends. It reads the files, so that all workers have the same."""

    def __init__(self, path: Path | None, config: Config) -> None:
        self.path = path
        self.config = config
        self._outcome: Reloaded | Refused | None = None

    def sent(self, outcome: Reloaded | Refused) -> None:
        """Accept what the supervisor has sent."""
        if isinstance(outcome, Reloaded):
            self.config = outcome.config
        self._outcome = outcome

    def poll(self) -> Reloaded | Refused | None:
        """Return what was sent since the last call."""
        outcome, self._outcome = self._outcome, None
        return outcome

    def switch(self, *, offline: bool) -> None:
        """Do nothing: the supervisor, which has the dashboard, switches."""

    def checked(self, toml: str) -> Config:
        """Return the configuration from this text, without the options of the supervisor. Raises ConfigError."""
        return load_text(toml, self.path)
