import tomllib

import pytest

from bestbefore.addon.config.editing import NewDomain, TableChange, edited

TEXT = """\
# mine
[default]
max_ttl = "6h"  # a bound
policy = "ttl"
alpha = 0.3

[[domain]]
match = "a.org"
fallback = [
  "ttl",  # first
]
obey = "shorten"

[[domain]]
match = "b.org"
"""
POLICY = ("policy", "alpha", "fallback")


def test_keys_are_replaced_where_they_were_and_all_else_stays() -> None:
    changes = [
        TableChange(None, {*POLICY}, ['policy = "always"']),
        TableChange(0, {*POLICY}, ['policy = "fixed"', "interval = 60.0"]),
        TableChange(1, {*POLICY}, ['policy = "never"']),
    ]
    assert edited(TEXT, changes, [NewDomain("c.org", ["alpha = 1.0"])]) == """\
# mine
[default]
max_ttl = "6h"  # a bound
policy = "always"

[[domain]]
match = "a.org"
policy = "fixed"
interval = 60.0
obey = "shorten"

[[domain]]
match = "b.org"
policy = "never"

[[domain]]
match = "c.org"
alpha = 1.0
"""


def test_what_is_not_there_is_added() -> None:
    assert edited("", [TableChange(None, {*POLICY}, ["alpha = 1.0"])]) == "[default]\nalpha = 1.0\n"
    text = edited("[proxy]\r\noffline = true", [TableChange(None, {*POLICY}, ["alpha = 1.0"])])
    assert text == "[proxy]\r\noffline = true\r\n\r\n[default]\r\nalpha = 1.0\r\n"
    assert tomllib.loads(text)["proxy"] == {"offline": True}


@pytest.mark.parametrize("toml", ['default = {alpha = 1}', 'default.alpha = 1', '\n[[domain]]\ndefault.x = 1\n'])
def test_a_table_in_one_line_is_refused(toml: str) -> None:
    change = TableChange(None, {*POLICY}, ["alpha = 2.0"])
    if "domain" in toml:
        assert tomllib.loads(edited(toml, [change]))["default"] == {"alpha": 2.0}
        return
    with pytest.raises(ValueError, match=r"line 1: expected a section that begins with the line \[default\]"):
        edited(toml, [change])
