import pytest

from bestbefore.addon.dashboard.comparison.result import AT_PRESENT, SIDE_BY_SIDE, compared_specs, result_of
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS
from bestbefore.policies.validation.machinery.spec import make_policy, parse_spec


def counts(stale: int, validations: int) -> dict[str, int]:
    return {"requests": 1001, "misses": 1, "cached": 1000, "hits": 1000 - validations, "stale_hits": stale,
            "validations": validations, "unnecessary": 0}  # fmt: skip


EXPORTED = {"requests": 1001, "objects": 3, "clients": 2, "updates": 9}
REPLAYED = [counts(10 * n, 100 + n) for n in range(len(SIDE_BY_SIDE) + 1)]
CHOICE = {"policy": "fixed", "params": {"interval": 60.0}, "reached": True, "first": counts(1, 2), "then": counts(3, 4),
          "at_best": counts(0, 1), "at_present": counts(7, 8), "in_use": "indttl"}  # fmt: skip
RECOMMENDED = [
    {"chosen_for": "*.www.a.org", **CHOICE},
    {"chosen_for": None, **CHOICE},
    {"present": "indttl", **counts(30, 300)},
    {"candidate": "ttl:alpha=0.2", **counts(20, 200), "frontier": True},
    {"candidate": "ttl:alpha=0.1", **counts(10, 250), "frontier": True},
    {"candidate": "ttl:alpha=0.9", **counts(999, 1), "frontier": True},
    {"candidate": "fixed:interval=1h", **counts(20, 900), "frontier": False},
    {"diff": "--- a\n+++ b\n", "warnings": []},
]


def test_what_the_commands_print_is_put_together() -> None:
    found = result_of(EXPORTED, REPLAYED, RECOMMENDED, 0.01, "indttl")
    assert [name for name, _ in found.replayed] == [*SIDE_BY_SIDE, AT_PRESENT]
    assert [spec for spec, _ in found.frontier] == ["ttl:alpha=0.1", "ttl:alpha=0.2", "ttl:alpha=0.9"]
    assert found.at_present.stale_rate == 0.03
    (choice,) = found.choices_for("a.org")
    assert (choice.policy, choice.present.validations, choice.then.validations) == ("fixed:interval=1m", 8, 4)
    assert [one.domain for one in found.choices] == ["*.www.a.org", "[default]"]
    assert found.choices_for("b.org") == []
    assert found.chart.count("<path transform") == 4, "what has many more stale hits than are wanted is left out"
    assert "<style" not in found.chart
    assert found.diff.startswith("--- a")
    without = result_of(EXPORTED, REPLAYED, [], 0.01, "indttl")
    assert (len(without.replayed), without.chart, without.choices) == (len(REPLAYED), "", [])


def test_output_of_another_kind_is_an_error() -> None:
    with pytest.raises((KeyError, TypeError, ValueError, StopIteration)):
        result_of(EXPORTED, REPLAYED[1:], RECOMMENDED, 0.01, "indttl")


def test_policies_are_compared_within_the_bounds_in_force() -> None:
    present = make_policy("indttl", {**LIVE_DEFAULTS, "max_ttl": 3600.0})
    specs = compared_specs(present)
    assert len(specs) == len(SIDE_BY_SIDE) + 1
    assert all("max_ttl=1h" in spec and "siblings" not in spec for spec in specs)
    assert [parse_spec(spec).name for spec in specs] == [*SIDE_BY_SIDE, "indttl"]
