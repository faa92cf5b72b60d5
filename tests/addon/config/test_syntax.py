"""The message about a line that is no TOML."""

import tomllib

import pytest

from bestbefore.addon.config.syntax import syntax_error


def explained(toml: str) -> tuple[int, str]:
    with pytest.raises(tomllib.TOMLDecodeError) as error:
        tomllib.loads(toml)
    return syntax_error(toml, error.value)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("listen = 127.0.0.1:3128 # here", 'a text stands in quotes: listen = "127.0.0.1:3128"'),
        ("state = here", 'a text stands in quotes: state = "here"'),
        ("offline = yes", "expected true or false"),
        ("offline = True", "expected true or false"),
        ("offline =", "expected a value after ="),
        ("listen = \u201c127.0.0.1:1\u201d", "expected straight quotes, as in \"text\" or 'text'"),
        ('listen = "127.0.0.1:1', "a text is not closed by a quote"),
        (r'state = "C:\state"', r"a backslash in a text is written \\, or the text in single quotes"),
        ("listen: 127.0.0.1:1", "expected key = value, or a section such as [proxy]"),
        ("listen", "expected key = value, or a section such as [proxy]"),
        ("; here", "a comment begins with #"),
        ("// here", "a comment begins with #"),
        ("[domain", "expected a section, such as [proxy] or [[domain]]"),
        ("[proxy]", "this section is there twice"),
        ("keep = 2", "this key is there twice"),
    ],
)
def test_what_was_expected_is_said_in_plain_words(line: str, expected: str) -> None:
    assert explained(f"[proxy]\nkeep = 1\n{line}\n") == (3, f"{line}: {expected}")


def test_a_list_that_is_not_closed_is_noticed_at_a_later_line() -> None:
    number, why = explained('[proxy]\npassthrough = ["a"\noffline = true\n')
    assert (number, why) == (3, "offline = true: a list or table that begins before is not closed")


def test_an_error_at_the_end_has_the_last_line() -> None:
    assert explained("\n\na = ") == (3, "a =: expected a value after =")


def test_what_is_not_known_keeps_the_words_of_the_parser() -> None:
    assert explained("a = [1, 2 3]") == (1, "a = [1, 2 3]: a list or table that begins before is not closed")
    assert explained('a = "b" "c"') == (
        1, 'a = "b" "c": Expected newline or end of document after a statement in column 9'
    )  # fmt: skip


def test_the_line_is_shown_without_passwords_and_on_one_line_of_a_terminal() -> None:
    assert explained("store = redis://me:secret@host/\t0")[1].startswith("store = redis://***@host/?0: ")
    assert len(explained("a = " + "b" * 200)[1]) < 200
