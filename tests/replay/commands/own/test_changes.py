from pathlib import Path

import pytest

from bestbefore.addon.config.load import load_text
from bestbefore.replay.commands.own.changes import NoChangeError, changed, diff
from bestbefore.replay.present import Present
from bestbefore.replay.recommend import Choice, Recommendation, Tried, replayed
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.sweeps.grid import points_of

NOTHING = Counts(0, 0, 0, 0, 0)
FILE = Path("proxy.toml")
TOML = """\
[default]
policy = "ttl"
max_ttl = "6h"

[[domain]]
match = "kept.org"
policy = "indhist"

[[domain]]
match = "own.org"
policy = "fixed"
min_ttl = "1m"
obey = "shorten"

[[domain]]
match = "follows.org"
weight = 2
"""


def choice(spec: str) -> Choice:
    (point,) = points_of(spec)
    return Choice(point, NOTHING, NOTHING, NOTHING, NOTHING, reached=True)


def recommendation(toml: str, default: str, **domains: str) -> Recommendation:
    present = Present.configured(load_text(toml, FILE).rules, toml, [])
    tried = Tried(present.default, NOTHING)
    chosen = {f"{name}.org": choice(spec) for name, spec in domains.items()}
    return Recommendation(0.01, choice(default), chosen, [], 9, NOTHING, tried, [], present)


@pytest.mark.parametrize("default", ["ttl", "always", "agghist:max_ttl=1h,fallback=group"])
@pytest.mark.parametrize("own", ["fixed:min_ttl=60", "ttl:alpha=0.5,max_ttl=2d,min_ttl=1m"])
def test_the_proxy_then_has_the_policies_as_they_were_replayed(default: str, own: str) -> None:
    found = recommendation(TOML, default, own=own, follows="always", new="ttl:alpha=0.7", bü="renewal:price=3")
    after = load_text(changed(found, TOML, load_text(TOML, FILE).rules, FILE), FILE).rules
    bounds = found.in_use.bounds
    for host, point in (
        ("else.org", found.default.point), ("own.org", found.domains["own.org"].point),
        ("kept.org", found.in_use.rules["kept.org"]), ("follows.org", found.domains["follows.org"].point),
        ("new.org", found.domains["new.org"].point), ("xn--b-eha.org", found.domains["bü.org"].point),
    ):
        assert after.rule_for(host, "/").policy == replayed(point, bounds), host
    assert after.rule_for("own.org", "/").obey == "shorten"


def test_what_is_in_use_already_changes_nothing() -> None:
    found = recommendation(TOML, "ttl", own="fixed:min_ttl=1m", follows="ttl", new="ttl")
    text = changed(found, TOML, load_text(TOML, FILE).rules, FILE)
    assert text == TOML
    assert diff(TOML, text, FILE) == []


def test_the_difference_is_a_unified_one_also_without_a_file() -> None:
    found = recommendation("", "always")
    text = changed(found, "", load_text("", None).rules, None)
    head = ["--- /dev/null", "+++ proxy.toml", "@@ -0,0 +1,2 @@"]
    assert diff("", text, None) == [*head, "+[default]", '+policy = "always"']


def test_bounds_of_a_rule_stay_as_they_are_written() -> None:
    toml = TOML + '\n[[domain]]\nmatch = "bound.org"\nbootstrap = "5s" # as it is small\n'
    found = recommendation(toml, "always", own="ttl:alpha=0.5,min_ttl=1m")
    text = changed(found, toml, load_text(toml, FILE).rules, FILE)
    assert [line for line in diff(toml, text, FILE) if line[0] in "+-"][2:] == [
        '-policy = "ttl"', '+policy = "always"', '-policy = "fixed"', '+policy = "ttl"', "+alpha = 0.5",
    ]
    after = load_text(text, FILE).rules
    bound = found.in_use.within("bound.org", found.default.point)
    assert after.rule_for("bound.org", "/").policy == replayed(bound, found.in_use.bounds)


def test_a_rule_with_a_part_of_a_policy_keeps_it_all_if_the_default_changes() -> None:
    toml = '[[domain]]\nmatch = "part.org"\ntheta = 0.2\n'
    found = recommendation(toml, "ttl:alpha=0.3")
    before = load_text(toml, FILE).rules
    after = load_text(changed(found, toml, before, FILE), FILE).rules
    assert after.rule_for("part.org", "/").policy == before.rule_for("part.org", "/").policy


def test_a_configuration_that_cannot_be_changed_is_said() -> None:
    toml = 'default = {policy = "ttl"}\n'
    with pytest.raises(NoChangeError, match=r"proxy.toml: it cannot be changed by this command: line 1: expected"):
        changed(recommendation(toml, "always"), toml, load_text(toml, FILE).rules, FILE)
