"""The keys about background fetches; the others are tested in test_load."""

from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.prefetch_limits import FetchRate
from bestbefore.addon.rules import Rules
from bestbefore.policies.units import DAY_S, HOUR_S


def rules(folder: Path, toml: str) -> Rules:
    (folder / "c.toml").write_text(toml)
    return load_config(folder / "c.toml").rules


def test_prefetch_limits_are_looked_up_by_domain_and_path_and_inherited(tmp_path: Path) -> None:
    found = rules(tmp_path, """
        default = {prefetch_most = "4/day", quiet_hours = ["22:00-06:00"], time_zone = "Europe/Berlin"}
        domain = [
            {match = "a.org/feeds/*", weight = 2.5, prefetch = "always", prefetch_least = "1/day", quiet_hours = []},
            {match = "a.org", prefetch = false, prefetch_hours = ["Mon-Fri 08:00-18:00"]},
            {match = "mail.org", prefetch_theta = 0.5, prefetch_delay = "6h"},
        ]
    """)
    feed, page = (found.rule_for("a.org", path).prefetch_limits for path in ("/feeds/1", "/"))
    assert (feed.weight, feed.prefetch, feed.quiet_hours) == (2.5, "always", ())
    assert (feed.prefetch_least, feed.prefetch_most) == (FetchRate(1, DAY_S), FetchRate(4, DAY_S))
    assert (page.prefetch, page.weight, page.time_zone) == ("never", 1.0, ZoneInfo("Europe/Berlin"))
    assert [str(times) for times in (*page.quiet_hours, *page.prefetch_hours)] == ["22:00-06:00", "mon-fri 08:00-18:00"]
    mail = found.rule_for("mail.org", "/").prefetch_limits
    assert (mail.prefetch_theta, mail.longest_s, mail.shortest_s) == (0.5, 6 * HOUR_S, 6 * HOUR_S)
    assert found.default.key == rules(tmp_path, "").default.key, "copies need not be evaluated again"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('prefetch = "sometimes"', 'expected true, false or "always"'),
        ("weight = -1", "expected a number, 0 or more"),
        ("weight = nan", "expected a number, 0 or more"),
        ('weight = "2"', "expected a number, 0 or more"),
        ('prefetch_least = "2"', 'such as "5000/day"'),
        ('prefetch_delay = "10s"', "expected a minute or more"),
        ('quiet_hours = "22:00-06:00"', 'such as ["22:00-06:00"]'),
        ('quiet_hours = ["night"]', 'item 1: expected times such as "22:00-06:00"'),
        ('quiet_hours = ["mon-sun"]', "leave no time for fetches"),
        ('time_zone = "Middle/Earth"', 'such as "UTC" or "Europe/Berlin"'),
        ('time_zone = "../etc/passwd"', 'such as "UTC" or "Europe/Berlin"'),
        ('prefetch_least = "2/day"\nprefetch_most = "1/day"', "prefetch_most is less than prefetch_least"),
    ],
)
def test_what_is_wrong_is_said_once_with_its_line(tmp_path: Path, line: str, expected: str) -> None:
    with pytest.raises(ConfigError) as error:
        rules(tmp_path, f'[default]\n{line}\n[[domain]]\nmatch = "a.org"\nweight = 2')
    (problem,) = error.value.problems
    assert ":2: [default] " in problem
    assert expected in problem
