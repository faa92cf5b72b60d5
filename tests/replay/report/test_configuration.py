from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bestbefore.addon.config.load import load_config
from bestbefore.addon.rules import Rules
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import make_policy
from bestbefore.replay.candidates import CANDIDATES
from bestbefore.replay.present import Present
from bestbefore.replay.recommend import Choice, Recommendation, Tried
from bestbefore.replay.report.configuration import summary, toml
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.sweeps.grid import Point, points_of

FIRST = Counts(misses=1, hits=300, stale_hits=3, validations=100, unnecessary=50)
THEN = Counts(misses=1, hits=150, stale_hits=5, validations=50, unnecessary=25)
BOUND = Counts(misses=1, hits=190, stale_hits=0, validations=10, unnecessary=0)
NOTHING = Counts(0, 0, 0, 0, 0)


def choice(spec: str, *, reached: bool = True, then: Counts = THEN, present: Counts = FIRST) -> Choice:
    (point,) = points_of(spec)
    return Choice(point, FIRST, then, BOUND, present, reached)


def recommendation(
    default: Choice, domains: Mapping[str, Choice] | None = None, others: Sequence[str] = (), changes: int = 70
) -> Recommendation:
    present = Tried(*points_of("indttl"), NOTHING)
    in_use = Present(present.point)
    return Recommendation(0.01, default, domains or {}, others, changes, THEN, present, [], in_use)


def live(point: Point) -> Policy:
    """The policy as the live proxy runs it: with the live defaults for keys that the SPEC does not name."""
    return make_policy(point.policy.name, {**LIVE_DEFAULTS, **point.written})


def loaded(tmp_path: Path, text: str) -> Rules:
    (tmp_path / "proxy.toml").write_text(text)
    return load_config(tmp_path / "proxy.toml").rules


def test_the_proxy_takes_all_candidates_as_they_were_replayed(tmp_path: Path) -> None:
    chosen = {f"host{n}": choice(spec) for n, spec in enumerate(CANDIDATES)}
    rules = loaded(tmp_path, toml(recommendation(choice("ttl"), chosen), []))
    assert [rule.policy for rule in rules.domains] == [live(one.point) for one in chosen.values()]


@pytest.mark.parametrize("spec", [
    "ttl", "indttl:window=12h,threshold=inf", "squid:min=5m", "indhist:fallback=none", "always",
    "indagg:fallback=group,max_ttl=6h,theta=.5", "indhist:history_window=inf,bootstrap=0",
])
def test_the_proxy_takes_each_rule_as_it_was_replayed(tmp_path: Path, spec: str) -> None:
    rules = loaded(tmp_path, toml(recommendation(choice(spec), {"example.org": choice(spec)}), []))
    (point,) = points_of(spec)
    assert rules.default.policy == live(point)
    assert rules.rule_for("example.org", "/").policy == live(point)


def test_a_rule_does_not_take_over_bounds_of_the_default_that_it_was_not_replayed_with(tmp_path: Path) -> None:
    default = "ttl:alpha=0.2,max_ttl=6h,min_ttl=1m,fallback=none,history_window=7d,bootstrap=1s"
    rules = loaded(tmp_path, toml(recommendation(choice(default), {"a": choice("indhist"), "b": choice(default)}), []))
    assert rules.rule_for("a", "/").policy == live(*points_of("indhist"))
    assert rules.rule_for("b", "/").policy == live(*points_of(default))


def test_hosts_are_matched_as_they_are_named(tmp_path: Path) -> None:
    domains = ["www.example.org", "2001:db8::1", "192.0.2.1", "bücher.example", "ipr"]
    chosen = {domain: choice(f"fixed:interval={n}m") for n, domain in enumerate(domains, 1)}
    rules = loaded(tmp_path, toml(recommendation(choice("ttl"), chosen), []))
    for host, one in zip(
        ["www.example.org", "2001:db8::1", "192.0.2.1", "xn--bcher-kva.example", "ipr"], chosen.values(), strict=True
    ):
        assert rules.rule_for(host, "/").policy == live(one.point)
    assert rules.rule_for("example.org", "/").policy == live(*points_of("ttl"))


def test_the_figures_stand_beside_each_rule() -> None:
    text = toml(recommendation(choice("ttl"), {"example.org": choice("indhist", then=NOTHING)}), ["From u.csv."])
    assert "# From u.csv.\n" in text
    assert "#   with this file    2.5 % stale, more than 1 %; 50 validations, 25 %\n" in text
    assert "#   without (indttl)  0.75 % stale; 100 validations, 25 %\n" in text
    assert "#   at best (oracle)  0 % stale; 10 validations, 5 %\n" in text
    assert text.partition("[[domain]]\n")[2].splitlines() == [
        'match = "example.org"',
        "# first part:  400 found a copy: 0.75 % stale; 100 validations, 25 %",
        "# second part: 0 found a copy: 0 % stale; 0 validations, 0 %",
        "# at best (oracle): 0 % stale; 10 validations, 5 %",
        'policy = "indhist"',
    ]


@pytest.mark.parametrize(("without", "warned"), [
    (Counts(misses=1, hits=151, stale_hits=5, validations=49, unnecessary=25), True),
    (Counts(misses=1, hits=150, stale_hits=4, validations=50, unnecessary=25), True),
    (Counts(misses=1, hits=149, stale_hits=4, validations=51, unnecessary=25), False),
    (THEN, False),
])
def test_a_file_that_does_worse_than_none_is_reported(without: Counts, warned: bool) -> None:
    found = recommendation(choice("ttl", present=without))
    beware = "  Beware: in the second part the proxy did better without this file."
    assert (f"\n# {beware}\n" in toml(found, [])) == warned
    assert (beware in summary(found)) == warned


def test_what_no_candidate_reaches_is_said() -> None:
    text = toml(recommendation(choice("ttl", reached=False)), [])
    assert '# No candidate keeps to 1 %: this is the nearest. (policy = "always" does: it validates each time.)' in text


def test_a_choice_that_rests_on_too_little_is_called_a_guess() -> None:
    told = [toml(recommendation(choice("ttl"), changes=changes), []).replace("\n# ", " ") for changes in (29, 30)]
    assert [" 400 requests found a copy and 29 of them met a change, where 300 and 30 " in text for text in told] == [
        True, False
    ]
    assert ["a guess" in text for text in told] == [True, False]


def test_domains_without_a_rule_are_named_and_cannot_break_the_file(tmp_path: Path) -> None:
    others = ["", "small.example", 'a\nb = "c"', "\x1b[31mred", "d", "e", "f"]
    text = toml(recommendation(choice("ttl"), others=others), ["a" * 300])
    assert loaded(tmp_path, text).domains == ()
    said = " ".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# "))
    assert r'''no host: objects without a host, small.example, "a\nb = \"c\"", "\u001b[31mred", d and 2 more.''' in said
    assert "\x1b" not in text


def test_the_summary_has_a_line_for_each_rule_and_what_comes_of_all() -> None:
    header, *lines = summary(recommendation(choice("ttl"), {"example.org": choice("indhist")}, ["a.example"]))
    assert header.split() == [
        "domain", "policy", "cached", "stale", "validations", "then:", "cached", "stale", "validations", "at", "best"
    ]
    assert [line.split() for line in lines[:2]] == [
        ["example.org", "indhist", "400", "0.75", "%", "100", "200", "2.5", "%", "50", "10"],
        ["[default]", "ttl", "400", "0.75", "%", "100", "200", "2.5", "%", "50", "10"],
    ]
    assert lines[2:] == [
        "Too little data (in the first part, fewer than 300 requests that found a copy, or fewer than 30 of",
        "them that met a change), or no host: a.example.",
        "",
        "then, all 200 requests that found a copy:",
        "  with this file    2.5 % stale, more than 1 %; 50 validations, 25 %",
        "  without (indttl)  0.75 % stale; 100 validations, 25 %",
        "  at best (oracle)  0 % stale; 10 validations, 5 %",
    ]
