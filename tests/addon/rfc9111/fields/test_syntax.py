import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.fields.syntax import DELTA_MAX_S, delta_seconds, is_token, list_members, unquoted


@pytest.mark.parametrize(
    ("value", "members"),
    [
        ("foo ,bar,charlie", ["foo", "bar", "charlie"]),  # RFC 9110 5.6.1.2
        ("foo , ,bar,charlie", ["foo", "bar", "charlie"]),
        ("", []),
        (",", []),
        (",   ,", []),
        ('a="b, c", d', ['a="b, c"', "d"]),
        (r'a="b\", c", d', [r'a="b\", c"', "d"]),
        ('a="b, c', ['a="b, c']),
        ("a\t,\tb", ["a", "b"]),
    ],
)
def test_a_list_is_split_at_commas_outside_of_quoted_strings(value: str, members: list[str]) -> None:
    assert list_members(value) == members


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("003600", 3600),
        ("2147483647", 2147483647),
        ("2147483648", DELTA_MAX_S),
        ("99999999999", DELTA_MAX_S),
        ("9" * 5000, DELTA_MAX_S),
        ("0" * 5000 + "7", 7),
        ("", None),
        ("-1", None),
        ("+1", None),
        ("1.0", None),
        (" 1", None),
        ("1_0", None),
        ("²", None),
        ("٣", None),
    ],
)
def test_seconds_are_digits_and_no_more_than_the_greatest_number(text: str, value: int | None) -> None:
    assert delta_seconds(text) == value


def test_a_quoted_string_gives_up_its_quotes_and_escapes() -> None:
    assert unquoted(r'"a \"b\" \\ c"') == r'a "b" \ c'
    assert unquoted('""') == ""
    for text in ("", "a", '"', '"a', 'a"', '"a"b"', '"a\\"', '"a\nb"'):
        assert unquoted(text) is None, text


def test_tokens_have_no_separators() -> None:
    assert is_token("no-cache")
    assert is_token("'*~|")
    for text in ("", "a b", 'a"', "a=b", "a,", "é", "a;b"):
        assert not is_token(text), text


@given(st.text(st.sampled_from('ab,"\\ \t\x00é'), max_size=30))
@example('"' * 3000)
@example('"\\' * 3000)
def test_any_text_can_be_split_and_nothing_but_space_and_commas_is_lost(text: str) -> None:
    members = list_members(text)
    assert all(member and member == member.strip(" \t") for member in members)
    assert "".join(members).replace(",", "").replace(" ", "").replace("\t", "") == text.replace(",", "").replace(
        " ", ""
    ).replace("\t", "")
    unquoted(text)
    delta_seconds(text)
