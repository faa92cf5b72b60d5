"""Each value has the place that it comes from, and no secret is shown."""

import doctest
from pathlib import Path

from bestbefore.addon.config.load import load_config, load_text
from bestbefore.addon.reports import configuration

TOML = """
[proxy]
store = "redis://me:secret@192.0.2.1/0"
keep = "3d"
stale_if_down = "1h"

[[domain]]
match = "a.example"
policy = "ttl"

[[domain]]
match = "b.example"
obey = "shorten"
feed_hint = "2h"
theta = 0.2
prefetch_most = "20/day"

[default]
max_ttl = "6h"
theta = 0.3
verify = true
"""


def test_the_examples_hold() -> None:
    assert doctest.testmod(configuration).failed == 0


def test_values_have_their_lines(tmp_path: Path) -> None:
    file = tmp_path / "bestbefore.toml"
    file.write_text(TOML)
    found = configuration.sections(load_config(file, {"listen": "127.0.0.1:3128"}), file)
    assert [(one.title, one.source) for one in found] == [
        ("[proxy]", "line 2"), ("[default]", "line 18"), ("[[domain]] a.example", "line 7"),
        ("[[domain]] b.example", "line 11"), ("[prefetch]", "default"),
    ]  # fmt: skip
    proxy = {one.key: (one.value, one.source) for one in found[0].values}
    assert proxy["store"] == ("redis://...@192.0.2.1/0", "line 3")
    assert proxy["keep"] == ("3d", "line 4")
    assert proxy["listen"] == ("127.0.0.1:3128", "command line")
    assert proxy["workers"] == ("one for each core, at most 4", "default")
    assert [(one.key, one.source) for one in found[1].values] == [("policy", "lines 19, 20"), ("verify", "line 21")]
    assert [(one.key, one.source) for one in found[2].values] == [("policy", "line 9"), ("verify", "line 21")]
    assert found[3].values[0].source == "line 15", "the line of its theta"
    assert [(one.key, one.value, one.source) for one in found[3].values[1:]] == [
        ("obey", "shorten", "line 13"), ("feed_hint", "2h", "line 14"), ("verify", "true", "line 21"),
        ("prefetch_most", "20/day", "line 16"),
    ]  # fmt: skip
    assert "secret" not in str(found)
    file.write_text("broken = ")
    assert configuration.sections(load_config(None), file)[0].source == "default"


def test_what_another_text_would_change_is_named_with_when(tmp_path: Path) -> None:
    file = tmp_path / "bestbefore.toml"
    file.write_text(TOML)
    hubs = '[websub]\nlisten = "127.0.0.1:81"\ncallback_url = "http://a.example"\n'
    new = TOML.replace('"3d"', '"4d"').replace('policy = "ttl"', 'policy = "fixed"').replace('obey = "shorten"\n', "")
    new = new.replace('stale_if_down = "1h"', "")
    before, after = load_config(file), load_text(new + hubs, file)
    found = [(one.section, one.key, one.needs_restart) for one in configuration.changes(before, after)]
    assert [one for one in found if one[0] != "[websub]"] == [
        ("[proxy]", "keep", True), ("[proxy]", "stale_if_down", True),
        ("[[domain]] a.example", "policy", False), ("[[domain]] b.example", "obey", False),
    ]  # fmt: skip
    assert ("[websub]", "callback_url", True) in found
    assert configuration.changes(before, before) == []
    assert "me:secret" not in configuration.text_of(file)
