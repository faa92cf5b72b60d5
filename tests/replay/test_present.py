from pathlib import Path

from bestbefore.addon.config.load import load_text
from bestbefore.replay.present import Present
from bestbefore.replay.recommend import replayed

TOML = """
[default]
policy = "ttl"
max_ttl = "6h"
[[domain]]
match = "a.org/x*"
theta = 0.2
policy = "indhist"
fallback = ["ttl"]
[[domain]]
match = "*.b.org"
obey = "shorten"
"""


def test_the_policies_in_use_are_those_of_the_configuration() -> None:
    rules = load_text(TOML, Path("proxy.toml")).rules
    objects = ["http://a.org/x1", "http://a.org/y", "http://www.b.org/", "no URL", "http://[/"]
    present = Present.configured(rules, TOML, objects)
    assert present.patterns == {"http://a.org/x1": "a.org/x*", "http://www.b.org/": "*.b.org"}
    assert present.default.spec == "ttl"
    assert {pattern: point.spec for pattern, point in present.rules.items()} == {
        "a.org/x*": "indhist:theta=0.2,fallback=ttl"
    }
    for pattern, rule in (("a.org/x*", rules.domains[0]), ("*.b.org", rules.default), ("", rules.default)):
        assert replayed(present.of(pattern), present.bounds) == rule.policy
