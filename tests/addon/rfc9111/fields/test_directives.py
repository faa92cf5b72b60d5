from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.fields.directives import (
    NO_DIRECTIVES,
    CacheControl,
    of_request,
    of_response,
    parse_cache_control,
)
from bestbefore.addon.rfc9111.fields.syntax import DELTA_MAX_S
from bestbefore.addon.rfc9111.message import Fields

type MakeFields = Callable[..., Fields]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["max-age=3600"], CacheControl(max_age=3600)),
        (["MaX-aGe=3600, PUBLIC"], CacheControl(max_age=3600, public=True)),
        (['max-age="3600"'], CacheControl(max_age=3600)),
        ([r'max-age="36\00"'], CacheControl(max_age=3600)),
        (["max-age=60", "s-maxage=1"], CacheControl(max_age=60, s_maxage=1)),
        (["foobar, max-age=60"], CacheControl(max_age=60)),
        (['extension="max-age=3600", max-age=1'], CacheControl(max_age=1)),
        (['max-age=1, extension="max-age=3600, no-store"'], CacheControl(max_age=1)),
        (["max-age=99999999999"], CacheControl(max_age=DELTA_MAX_S)),
        (["no-store", "", ", ,no-cache"], CacheControl(no_store=True, no_cache=True)),
        (['private="a, B"'], CacheControl(private_names=frozenset(("a", "b")))),
        (["no-cache=set-cookie"], CacheControl(no_cache_names=frozenset(("set-cookie",)))),
        (['no-cache="a"', 'no-cache="b"'], CacheControl(no_cache_names=frozenset(("a", "b")))),
        (['no-cache="a", no-cache'], CacheControl(no_cache=True)),
        (["max-stale"], CacheControl(max_stale=DELTA_MAX_S)),
        (["max-stale=5, min-fresh=7"], CacheControl(max_stale=5, min_fresh=7)),
        (["immutable, must-understand, no-transform, only-if-cached"],
         CacheControl(immutable=True, must_understand=True, no_transform=True, only_if_cached=True)),
        (["must-revalidate, proxy-revalidate, stale-while-revalidate=1, stale-if-error=2"],
         CacheControl(must_revalidate=True, proxy_revalidate=True, stale_while_revalidate=1, stale_if_error=2)),
    ],
)  # fmt: skip
def test_directives_are_read_with_either_form_of_argument_over_all_lines(
    lines: list[str], expected: CacheControl
) -> None:
    assert parse_cache_control(lines) == expected


@pytest.mark.parametrize("value", ["max-age=1800, max-age=1", "max-age=1800, max-age=1800"])
def test_the_first_of_several_lifetimes_counts(value: str) -> None:
    assert parse_cache_control([value]).max_age == 1800


@pytest.mark.parametrize(
    "value",
    [
        "max-age=-3600",
        "max-age='3600'",
        "max-age=3600.0",
        "max-age=3600a",
        "max-age=a3600",
        "max-age =3600",
        "max-age= 3600",
        "max-age",
        "max-age=",
        'max-age="',
        'max-age="3600',
        "max-age=3600; foo",
        "max-age=3600, max-age=x;",
    ],
)
def test_a_lifetime_that_cannot_be_read_is_none_left(value: str) -> None:
    assert parse_cache_control([value]).max_age == 0


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("private; max-age=60", CacheControl(private=True, max_age=0)),
        ("no-store;", CacheControl(no_store=True)),
        ("no-store=1", CacheControl(no_store=True)),
        ('ext="unclosed, no-store, public', CacheControl(no_store=True)),
        ("private=", CacheControl(private=True)),
        ('private=""', CacheControl(private=True)),
        ('private="a b"', CacheControl(private=True)),
        ('no-cache="a, Cache-Control"', CacheControl(no_cache=True)),
        ('private="vary"', CacheControl(private=True)),
        ("'private'", CacheControl(private=True)),
        ("'Private', max-age=60", CacheControl(private=True, max_age=60)),
        ("'private, max-age=60'", CacheControl(private=True, max_age=0)),
        ("private='x'", CacheControl(private=True)),
        ("private='x, y'", CacheControl(private=True)),
        ("private=\"'x'\"", CacheControl(private=True)),
        ("no-cache='set-cookie'", CacheControl(no_cache=True)),
        ("'no-store'", CacheControl(no_store=True)),
        ("max-age='60'", CacheControl(max_age=0)),
        ("`no-store`", CacheControl(no_store=True)),
        ("\xe2\x80\x98private\xe2\x80\x99", CacheControl(private=True)),
        ('"private"', CacheControl(private=True)),
        ('"no-store, private"', CacheControl(no_store=True, private=True)),
        ("'public', 'immutable'", NO_DIRECTIVES),
    ],
)
def test_what_is_broken_restricts_as_much_as_it_can_mean(value: str, expected: CacheControl) -> None:
    assert parse_cache_control([value]) == expected


@pytest.mark.parametrize(
    "value",
    [
        "public;",
        "public=1",
        "immutable x",
        "must-understand=1",
        "stale-while-revalidate=x",
        "stale-if-error",
        "max-stale=x",
    ],
)
def test_what_is_broken_permits_nothing(value: str) -> None:
    assert parse_cache_control([value]) == NO_DIRECTIVES


def test_a_bound_that_cannot_be_read_is_never_met() -> None:
    assert parse_cache_control(["min-fresh=x"]).min_fresh == DELTA_MAX_S
    assert parse_cache_control(["s-maxage=x, max-age=60"]).s_maxage == 0


def test_pragma_counts_in_a_request_without_cache_control_and_nowhere_else(fields: MakeFields) -> None:
    assert of_request(fields("Pragma: foo, No-Cache")).no_cache
    assert not of_request(fields("Pragma: foo")).no_cache
    assert not of_request(fields("Pragma: no-cache", "Cache-Control: max-age=60")).no_cache
    assert of_response(fields("Pragma: no-cache")) == NO_DIRECTIVES


def test_names_mean_nothing_to_no_cache_in_a_request(fields: MakeFields) -> None:
    assert of_request(fields('Cache-Control: no-cache="a"')) == CacheControl(no_cache=True)


def test_wishes_of_clients_need_not_be_honoured_but_what_protects_them_is(fields: MakeFields) -> None:
    asked = fields("Cache-Control: no-cache, max-age=0, min-fresh=5, max-stale, no-store, only-if-cached")
    assert of_request(asked, honour=False) == CacheControl(no_store=True, only_if_cached=True)
    assert of_request(fields("Pragma: no-cache"), honour=False) == NO_DIRECTIVES


words = st.sampled_from([
    "max-age", "s-maxage", "no-store", "private", "no-cache", "public", "max-stale", "=", "=1", '="', '"', "\\", ",",
    ", ", ";", " ", "60", "a", "\x00", "\xff",
])  # fmt: skip
lines_of_words = st.lists(st.one_of(st.lists(words, max_size=8).map("".join), st.text(max_size=20)), max_size=3)


@given(lines_of_words)
@settings(max_examples=200, derandomize=True)
def test_no_text_makes_the_parser_fail_and_seconds_stay_within_bounds(lines: list[str]) -> None:
    parsed = parse_cache_control(lines)
    for value in (parsed.max_age, parsed.s_maxage, parsed.max_stale, parsed.min_fresh, parsed.stale_while_revalidate):
        assert value is None or 0 <= value <= DELTA_MAX_S
    assert not (parsed.no_cache and parsed.no_cache_names)
    assert not (parsed.private and parsed.private_names)


@given(lines_of_words, st.sampled_from(["no-store", "private", "must-revalidate"]), st.integers(0, 3))
@settings(max_examples=200, derandomize=True)
def test_nothing_beside_it_hides_a_restriction_on_a_line_of_its_own(lines: list[str], name: str, at: int) -> None:
    parsed = parse_cache_control([*lines[:at], name, *lines[at:]])
    assert getattr(parsed, name.replace("-", "_")) is True
