import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.config.lines import KeyLines, KeyPath

TEXT = '''# a comment with [brackets] and = signs
top = 1

[proxy]  # [[not.a.table]]
listen = "a # b = [c"
"quoted key" = 'x'
passthrough = [
  "a",  # ] not the end
  "b = 2",
]
banner = """
[fake]
fake = "1" ""\\""""
last.dotted . part = 3

[[domain]]
match = "one"
[[ domain ]]

match = \'\'\'
fake = 2\'\'\'\'\'
[domain.inner]
deep = {a = [1, 2], b = "}"}
[[domain]]
match = "three"
'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 2),
        (("proxy",), 4),
        (("proxy", "listen"), 5),
        (("proxy", "quoted key"), 6),
        (("proxy", "passthrough"), 7),
        (("proxy", "banner"), 11),
        (("proxy", "last"), 14),
        (("proxy", "last", "dotted", "part"), 14),
        (("domain", 0), 16),
        (("domain", 0, "match"), 17),
        (("domain", 1), 18),
        (("domain", 1, "match"), 20),
        (("domain", 1, "inner", "deep"), 23),
        (("domain", 2, "match"), 25),
    ],
)
def test_each_key_has_its_line(path: KeyPath, line: int) -> None:
    tomllib.loads(TEXT)
    assert KeyLines(TEXT).line_of(path) == line


@pytest.mark.parametrize(
    ("path", "line"),
    [(("proxy", "fake"), 4), (("domain", 1, "inner", "deep", "b"), 23), (("nowhere", "x"), 1), ((), 1)],
)
def test_a_key_that_is_not_found_has_the_line_of_what_is_around_it(path: KeyPath, line: int) -> None:
    assert KeyLines(TEXT).line_of(path) == line


def test_windows_line_ends_count_once() -> None:
    assert KeyLines("a = 1\r\n\r\nb = 2\r\n").line_of(("b",)) == 3


KEYS = st.text("abz_-19", min_size=1, max_size=4) | st.sampled_from(['"a.b"', "'c d'", '"\\u00e9"'])
VALUES = st.sampled_from(
    ["1", "true", '"x # ]"', "'''\n[t]\nk = 1\n'''", '"""\na"b""c\\"\n"""', "[\n 1, # ]\n [2]\n]", "{ q = [1] }",
     "1979-05-27"]
)


@given(st.lists(st.tuples(KEYS, VALUES, st.sampled_from(["", "# c\n", "\n", " \t\n"])), max_size=8))
@settings(max_examples=200, derandomize=True, deadline=None)
def test_each_key_of_a_generated_text_is_found_where_it_was_put(entries: list[tuple[str, str, str]]) -> None:
    toml, expected = "", {}
    for key, value, between in entries:
        name = next(iter(tomllib.loads(f"{key} = 0")))
        if name not in expected:
            expected[name] = toml.count("\n") + 1
            toml += f"{key} = {value}\n{between}"
    tomllib.loads(toml)
    lines = KeyLines(toml)
    assert {name: lines.line_of((name,)) for name in expected} == expected
