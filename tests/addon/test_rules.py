from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.rules import DomainRule, HostPattern, Pattern, Rules, Trust
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.rules.ttl import Ttl


def rule(match: str, group: str | None = None) -> DomainRule:
    return DomainRule(Pattern.parse(match), Bounded(Ttl()), group=group)


DEFAULT = rule("*")


def matched(rules: Rules, host: str, path: str = "/") -> str:
    return str(rules.rule_for(host, path).match)


@pytest.mark.parametrize(
    ("pattern", "host"),
    [
        ("*", "example.org"),
        ("*", "192.0.2.1"),
        ("example.org", "example.org"),
        ("Example.ORG.", "eXample.org"),
        ("example.org", "example.org."),
        ("*.example.org", "www.example.org"),
        ("*.example.org", "a.b.example.org"),
        ("localhost", "localhost"),
        ("my_host-1.lan", "my_host-1.lan"),
        ("192.0.2.1", "192.0.2.1"),
        ("2001:DB8:0::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("*.bücher.example", "www.xn--bcher-kva.example"),
    ],
)
def test_a_host_pattern_matches(pattern: str, host: str) -> None:
    assert HostPattern.parse(pattern).matches(host)


@pytest.mark.parametrize(
    ("pattern", "host"),
    [
        ("*.example.org", "example.org"),
        ("*.example.org", "badexample.org"),
        ("example.org", "www.example.org"),
        ("example.org", "example.org.evil.test"),
        ("*.example.org", "www.example.org.evil.test"),
        ("192.0.2.1", "192.0.2.10"),
    ],
)
def test_a_host_pattern_does_not_match(pattern: str, host: str) -> None:
    assert not HostPattern.parse(pattern).matches(host)


@pytest.mark.parametrize(
    "text",
    ["", ".", "*.", "**", "*.*", "*example.org", "www.*", "a..b", "a b", "-a.org", "a-.org", "example.org:80",
     "[::1", "user@example.org", "\u2028", "x" * 64 + "ü.org", "*.192.0.2.1.*"],
)
def test_what_is_no_host_pattern_is_refused_with_its_text(text: str) -> None:
    with pytest.raises(ValueError, match="is not a host") as error:
        HostPattern.parse(text)
    assert repr(text) in str(error.value)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("h", "/anything?x=1"),
        ("h/", "/"),
        ("h/feed", "/feed"),
        ("h/feed", "/feed?page=2"),
        ("h/feeds/*", "/feeds/"),
        ("h/feeds/*", "/feeds/a/b?c"),
        ("h/*.xml", "/a/b.xml"),
        ("h/*.xml", "/a.xml?t=1"),
        ("h/a*b*c", "/abc"),
        ("h/a*b*c", "/a-c-b-b-c"),
        ("h/search?q=*", "/search?q=cat"),
        ("h/*?*page=*", "/list?sort=up&page=2"),
        ("h/a**b", "/ab"),
        ("h/a.c", "/a.c"),
    ],
)
def test_a_path_pattern_matches(pattern: str, path: str) -> None:
    assert Pattern.parse(pattern).matches_path(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("h/", "/index.html"),
        ("h/feed", "/feeds"),
        ("h/feed", "/Feed"),
        ("h/feeds/*", "/feeds"),
        ("h/search?q=*", "/search"),
        ("h/search?q=*", "/search?p=1&q=2"),
        ("h/ab*ba", "/aba"),
        ("h/a*b*c", "/a-c-b"),
        ("h/a.c", "/abc"),
    ],
)
def test_a_path_pattern_does_not_match(pattern: str, path: str) -> None:
    assert not Pattern.parse(pattern).matches_path(path)


def test_a_scheme_in_a_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match="has a scheme"):
        Pattern.parse("https://example.org/")


@given(st.text("/ab*?", max_size=8), st.text("/ab?", max_size=12))
@settings(max_examples=500, derandomize=True)
def test_a_path_pattern_agrees_with_a_backtracking_matcher(pattern: str, path: str) -> None:
    def matches(p: str, s: str) -> bool:
        if not p:
            return not s
        if p[0] == "*":
            return matches(p[1:], s) or (bool(s) and matches(p, s[1:]))
        return bool(s) and p[0] == s[0] and matches(p[1:], s[1:])

    compared = "/" + path if "?" in pattern else ("/" + path).partition("?")[0]
    assert Pattern.parse("h/" + pattern).matches_path("/" + path) == matches("/" + pattern, compared)


@given(st.text(max_size=30) | st.text("a.*/[]:-1é", max_size=12))
@settings(max_examples=300, derandomize=True)
def test_the_text_of_a_pattern_is_that_pattern_or_the_pattern_is_refused(text: str) -> None:
    try:
        pattern = Pattern.parse(text)
    except ValueError:
        return
    assert Pattern.parse(str(pattern)) == pattern


def test_the_first_rule_that_matches_wins() -> None:
    rules = Rules(DEFAULT, (rule("www.example.org"), rule("*.example.org"), rule("example.org")))
    assert matched(rules, "www.example.org") == "www.example.org"
    assert matched(rules, "img.example.org") == "*.example.org"
    assert matched(rules, "EXAMPLE.org") == "example.org"
    assert matched(rules, "example.com") == "*"


def test_a_rule_for_a_path_falls_through_to_the_next_of_the_host() -> None:
    rules = Rules(DEFAULT, (rule("example.org/feeds/*"), rule("*.org/old"), rule("example.org"), rule("*/feeds/*")))
    assert matched(rules, "example.org", "/feeds/a?b") == "example.org/feeds/*"
    assert matched(rules, "example.org", "/old") == "*.org/old"
    assert matched(rules, "example.org", "/new") == "example.org"
    assert matched(rules, "other.test", "/feeds/a") == "*/feeds/*"
    assert matched(rules, "other.test", "/") == "*"


def test_an_earlier_rule_for_all_paths_hides_a_later_one_for_some() -> None:
    rules = Rules(DEFAULT, (rule("*.example.org"), rule("www.example.org/feeds/*")))
    assert matched(rules, "www.example.org", "/feeds/a") == "*.example.org"


def test_an_object_belongs_to_the_group_of_its_rule_or_to_its_domain() -> None:
    rules = Rules(DEFAULT, (rule("cdn.example", "example.org"), rule("*.example.org/news/*", "news")))
    assert rules.group_of("cdn.example") == "example.org"
    assert rules.group_of("www.example.org") == "example.org"
    assert rules.group_of("www.example.org", "/news/1") == "news"
    assert rules.group_of("a.b.example.co.uk") == "example.co.uk"
    assert rules.group_of("192.0.2.1") == "192.0.2.1"


def test_a_rule_may_leave_the_group_to_the_responses_of_the_object() -> None:
    rules = Rules(DEFAULT, (rule("shop.example.org", "cache-groups"), rule("*.example.org")))
    label = '"prices"@http://shop.example.org'
    assert rules.group_of("shop.example.org", "/", label) == label
    assert rules.group_of("shop.example.org", "/") == rules.group_of("www.example.org", "/", label) == "example.org"


@pytest.mark.parametrize(
    ("wide", "narrow", "covers"),
    [
        ("*", "a.org/x", True),
        ("a.org", "a.org/x", True),
        ("*.org", "b.a.org", True),
        ("*.org", "*.a.org", True),
        ("a.org/x", "a.org/x", True),
        ("*.org/x", "a.org/x", True),
        ("*.a.org", "a.org", False),
        ("a.org/x", "a.org", False),
        ("a.org/*", "a.org/x", False),
        ("a.org", "b.org", False),
    ],
)
def test_a_pattern_covers_what_matches_only_where_it_does(wide: str, narrow: str, covers: bool) -> None:
    """Paths with stars are not compared."""
    assert Pattern.parse(wide).covers(Pattern.parse(narrow)) is covers


def test_rules_are_equal_when_their_rules_are() -> None:
    asked, fresh = Rules(DEFAULT, (rule("a.org"),)), Rules(DEFAULT, (rule("a.org"),))
    asked.rule_for("a.org", "/")
    assert asked == fresh
    assert asked != Rules(replace(DEFAULT, obey="override"), (rule("a.org"),))


def test_the_rules_of_a_host_are_looked_for_once() -> None:
    rules = Rules(DEFAULT, (rule("a.org/x"), rule("*.org")))
    for path in ("/", "/x", "/y"):
        rules.rule_for("a.org", path)
    assert rules._candidates.cache_info().misses == 1


def test_the_trust_of_a_host_is_that_of_its_rule_for_all_paths() -> None:
    careless = replace(rule("a.example"), verify=False)
    rules = Rules(DEFAULT, (rule("a.example/feeds/*"), careless))
    assert (rules.trust_of("a.example"), rules.trust_of("b.example")) == (Trust(None, False), Trust())
