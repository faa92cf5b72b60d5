"""The time limits of peers."""

from pathlib import Path

from bestbefore.addon.config.settings import Settings
from bestbefore.addon.proxy.limits import DEFAULT_LIMITS, TimeLimits, limits_of


def test_the_defaults_are_those_of_the_configuration() -> None:
    assert limits_of(Settings(state=Path("state"))) == DEFAULT_LIMITS


def test_each_limit_is_that_of_its_setting() -> None:
    settings = Settings(state=Path("state"), connect_timeout=1.0, head_timeout=2.0, read_timeout=3.0, idle_timeout=4.0)
    assert limits_of(settings) == TimeLimits(connect_s=1.0, head_s=2.0, read_s=3.0, idle_s=4.0)
