"""RFC 9309, with its own examples."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.prefetcher.robots import EVERYTHING, MOST_SITEMAPS, NOTHING, Robots


def rules(*lines: str) -> Robots:
    return Robots.parse("\n".join(lines).encode())


def test_sitemaps_are_named_to_all_robots() -> None:
    found = rules("SITEMAP: http://a/1 # main", "User-agent: other", "Disallow: /", "Sitemap:http://a/2")
    assert found.sitemaps == ("http://a/1", "http://a/2")
    assert found.allows("/x")
    assert len(rules(*["Sitemap: http://a/"] * (MOST_SITEMAPS + 1)).sitemaps) == MOST_SITEMAPS


@pytest.mark.parametrize(
    ("rule", "path", "allowed"),
    [
        ("Disallow: /foo", "/foobar", False),
        ("Disallow: /foo/", "/foo", True),
        ("Disallow:", "/x", True),
        ("disallow : /x # a comment", "/x", False),
        ("Disallow: /*.gif$", "/a/b.gif", False),
        ("Disallow: /*.gif$", "/a/b.gif?x", True),
        ("Disallow: /a$", "/a", False),
        ("Disallow: /a$", "/ab", True),
        ("Disallow: /*?", "/page?x=1", False),
        ("Disallow: /*a*b$", "/xaxab", False),
        ("Disallow: /*ab*b$", "/ab", True),
        ("Disallow: /path/file-with-a-%2A.html", "/path/file-with-a-%2a.html", False),
        ("Disallow: /foo/bar/\u30c4", "/foo/bar/%E3%83%84", False),
        ("Disallow: /foo/bar/%62%61%7A", "/foo/bar/baz", False),
        ("Disallow: /", "/robots.txt", True),
        ("Nonsense", "/x", True),
    ],
)
def test_one_rule(rule: str, path: str, allowed: bool) -> None:
    assert rules("User-agent: *", rule).allows(path) is allowed


def test_the_longest_rule_wins_and_of_equals_allow() -> None:
    robots = rules("User-Agent: *", "Disallow: /example/page/", "Allow: /example/page.html",
                   "Allow: /example/page/", "Disallow: /example/page/disallowed.gif")
    assert robots.allows("/example/page/x")
    assert not robots.allows("/example/page/disallowed.gif")


def test_a_group_for_us_stands_in_for_the_one_for_all() -> None:
    robots = rules("User-agent: *", "Disallow: /", "", "User-agent: other", "User-agent: BestBefore/1.0",
                   "Disallow: /private", "User-agent: third", "Disallow: /third")
    assert robots.allows("/page")
    assert not robots.allows("/private/x")
    assert robots.allows("/third")


def test_an_empty_group_for_us_allows_everything() -> None:
    assert rules("User-agent: *", "Disallow: /", "User-agent: bestbefore", "Disallow:").allows("/x")


def test_others_with_a_longer_name_are_not_us() -> None:
    assert rules("User-agent: bestbeforex", "Disallow: /").allows("/x")


def test_everything_and_nothing() -> None:
    assert EVERYTHING.allows("/x")
    assert not NOTHING.allows("/x")


@given(st.binary(max_size=300), st.text(max_size=50))
def test_any_bytes_are_read(content: bytes, path: str) -> None:
    Robots.parse(b"User-agent: *\n" + content).allows("/" + path)


PATTERNS = st.text("ab/*$", min_size=1, max_size=6)


@given(st.lists(st.tuples(st.booleans(), PATTERNS), max_size=8), st.text("ab/", max_size=9))
def test_it_is_as_the_rfc_defines_it(listed: list[tuple[bool, str]], path: str) -> None:
    def is_for(pattern: str) -> bool:
        ends = pattern.endswith("$")
        expression = ".*".join(map(re.escape, pattern.removesuffix("$").split("*"))) + ("" if ends else ".*")
        return re.fullmatch(expression, path) is not None

    robots = rules("User-agent: *", *[f"{'Allow' if allows else 'Disallow'}: {pattern}" for allows, pattern in listed])
    longest = max(((len(pattern), allows) for allows, pattern in listed if is_for(pattern)), default=(0, True))
    assert robots.allows(path) is longest[1]


@pytest.mark.parametrize(
    ("content", "path", "allowed"),
    [
        (b"Disallow: /" + b"*a" * 2000 + b"$", "/" + "a" * 1500 + "b", True),
        (b"Disallow: /" + b"*a" * 250_000 + b"$", "/" + "a" * 15, True),
        (b"Disallow:*ab\n" * 39_000, "/" + "a" * 100, True),
        (b"Disallow:*ab\n" * 39_000, "/" + "a" * 8000, False),  # too laborious: not fetched
        (b"Disallow: /x\n" * 39_000, "/" + "a" * 8000, True),
    ],
)
def test_patterns_cannot_make_it_slow(content: bytes, path: str, allowed: bool) -> None:
    robots = Robots.parse(b"User-agent: *\n" + content)
    started = time.process_time()
    assert robots.allows(path) is allowed
    assert time.process_time() - started < 1.0


def test_many_agents_and_rules_cannot_either() -> None:
    content = b"User-agent: a\n" * 18_000 + b"User-agent: bestbefore\n" + b"Disallow: /x\n" * 18_000
    started = time.process_time()
    assert not Robots.parse(content).allows("/x")
    assert time.process_time() - started < 5.0


def test_consecutive_agents_share_their_rules_and_an_agent_after_rules_begins_a_new_group() -> None:
    robots = rules("User-agent: x", "User-agent: *", "Disallow: /a", "User-agent: y", "Disallow: /b")
    assert (robots.allows("/a"), robots.allows("/b")) == (False, True)
