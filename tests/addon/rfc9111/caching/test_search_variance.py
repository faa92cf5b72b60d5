from urllib.parse import quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.search_variance import LONGEST, MAX_PARAMETERS, SearchVariance
from bestbefore.addon.rfc9111.message import Fields


def variance(value: str) -> SearchVariance | None:
    return SearchVariance.of(Fields([("No-Vary-Search", value)]))


@pytest.mark.parametrize(
    ("value", "path", "other", "same"),
    [
        ("params", "/a?x=1", "/a", True),
        ("params", "/a?x=1", "/b", False),
        ('params=("x")', "/a?x=1&y=2", "/a?y=2", True),
        ('params=("x")', "/a?x=1&y=2", "/a?y=3", False),
        ('params=("x")', "/a?X=1", "/a", False),
        ('params=("a b")', "/a?a+b=1&a%20b=2", "/a", True),
        ('params=("a+b")', "/a?a%20b=1", "/a?", True),
        ('params=("%C3%A9")', "/a?%c3%a9=1", "/a", True),
        ('params, except=("id")', "/a?utm=1&id=4", "/a?id=4", True),
        ('params, except=("id")', "/a?id=4", "/a?id=5", False),
        ('params, except=("id")', "/a?id=4", "/a", False),
        ("params, except=()", "/a?id=4", "/a", True),
        ("key-order", "/a?x=1&y=2", "/a?y=2&x=1", True),
        ("key-order", "/a?x=1&x=2", "/a?x=2&x=1", False),
        ('params=("z")', "/a?x=1&y=2", "/a?y=2&x=1", False),
        ('params=("z")', "/a?x=%31", "/a?x=1", True),
        ('params=("z")', "/a?x=%FF", "/a?x=%FE", False),
        ('params=("z")', "/a?x", "/a?x=", True),
    ],
)
def test_the_parameters_that_the_origin_declares_do_not_select(value: str, path: str, other: str, same: bool) -> None:
    declared = variance(value)
    assert declared is not None
    assert declared.are_equivalent(path, other) is declared.are_equivalent(other, path) is same


@pytest.mark.parametrize(
    "value",
    [
        *("", "params=?0", 'params="a"', "key-order=1", 'except=("a")', "params=(a)", 'params=("a"), except=("b")'),
        *("params=()", "key-order, params=1", "key-order=?0", 'params, except="a"', "params, except=(1)", "params,"),
        *('params=("' + "x" * LONGEST + '")', "key-order, params=?0, except=()"),
    ],
)
def test_a_field_that_declares_nothing_or_is_malformed_is_ignored(value: str) -> None:
    assert variance(value) is None
    assert SearchVariance.of(Fields()) is None


def test_a_query_too_long_to_be_compared_is_equivalent_to_itself_alone() -> None:
    declared = variance("params")
    assert declared is not None
    for query in ("x" * (LONGEST + 1), "&".join(["a=1"] * (MAX_PARAMETERS + 1))):
        assert declared.selecting(query) is None
        assert not declared.are_equivalent(f"/a?{query}", "/a")
        assert declared.are_equivalent(f"/a?{query}", f"/a?{query}")


PAIRS = st.lists(st.tuples(st.sampled_from(["a", "b", "\u00e9"]), st.text(max_size=3)), max_size=5)


@given(PAIRS, PAIRS)
def test_ignored_parameters_never_matter_and_others_always_do(
    pairs: list[tuple[str, str]], other: list[tuple[str, str]]
) -> None:
    for name in ("a", "b", "\u00e9"):
        declared = variance(f'params=("{quote_plus(name)}")')
        assert declared is not None
        expected = [p for p in pairs if p[0] != name] == [p for p in other if p[0] != name]
        assert declared.are_equivalent(f"/?{urlencode(pairs)}", f"/?{urlencode(other)}") is expected


@given(st.text(st.characters(max_codepoint=255), max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_no_value_and_no_query_makes_it_fail(value: str, query: str, other: str) -> None:
    declared = variance(value)
    if declared is not None:
        declared.are_equivalent(f"/?{query}", f"/?{other}")


def test_equivalent_queries_have_one_digest() -> None:
    declared = variance('key-order, params=("x")')
    assert declared is not None
    assert declared.digest("a=1&b=2&x=3") == declared.digest("b=2&a=1") != declared.digest("a=1&b=3")
    assert declared.digest("a" * (LONGEST + 1)) is None
