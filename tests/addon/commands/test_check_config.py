import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bestbefore.addon.cli import cli
from bestbefore.addon.config.prefetch_section import PrefetchSettings

GOOD = """
[proxy]
store = "redis://me:secret@localhost:6379/0"
mode = "reverse:http://127.0.0.1:8000"
allow_clients = ["192.0.2.0/24"]
hot_max = 100

[default]
policy = "indttl"
threshold = inf

[[domain]]
match = "*.example.org/feeds/*"
policy = "ttl"
alpha = 0.2
max_ttl = "6h"
obey = "override"
override = ["no-cache"]
group = "feeds"
weight = 2
prefetch_most = "4/day"
quiet_hours = ["22:00-06:00", "Sat-Sun"]
time_zone = "Europe/Berlin"

[prefetch]
enabled = true
budget = "24/hour"
"""


def check(path: Path) -> Result:
    return CliRunner().invoke(cli, ["check-config", str(path)], standalone_mode=False)


def test_a_good_file_is_summed_up_with_its_rules_in_order(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(GOOD)
    result = check(path)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert lines[0] == f"{path}: ok"
    for line in (
        "  listen               127.0.0.1:8080",
        "  mode                 reverse:http://127.0.0.1:8000",
        "  store                redis://***@localhost:6379/0",
        "  hot_max              100 bytes",
        "  keep                 7d",
        "  connect_ports        443, 8443",
        "  offline              false",
    ):
        assert line in lines
    assert lines[lines.index("rules, of which the first that matches wins") :] == [
        "rules, of which the first that matches wins",
        "  1. *.example.org/feeds/*",
        "     policy = ttl:alpha=0.2,min_ttl=0s,max_ttl=6h,fallback=none,bootstrap=1m,history_window=28d,siblings=0.05",
        "     obey = override",
        "     override = no-cache",
        "     group = feeds",
        "     weight = 2",
        "     prefetch_most = 4/day",
        "     quiet_hours = 22:00-06:00, sat-sun",
        "     time_zone = Europe/Berlin",
        "  2. everything else",
        "     policy = indttl:theta=0.1,alpha=0.1,window=1d,threshold=inf,min_ttl=0s,max_ttl=1d,fallback=ttl+group,"
        "bootstrap=1m,history_window=28d,siblings=0.05",
        "     obey = strict",
        "prefetch",
        "  enabled              true",
        "  budget               24/hour",
        "  budget_bytes         none",
        "  target               none",
        "  objective            freshness",
        "  timing               pattern",
        "  per_host_interval    2s",
        "  connections_per_host 1",
        "  robots               true",
        "  sitemaps             false",
        f"  user_agent           {PrefetchSettings().user_agent}",
        "  watch                none",
        "  opml                 none",
    ]


def test_a_delay_that_nothing_can_reach_is_said(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[prefetch]\nenabled = true\ntarget = "delay 1m"\n')
    lines = check(path).output.splitlines()
    at = lines.index("  target               delay 1m")
    assert "out of reach: no object is fetched more often than every 5m, a mean delay of 2.5m" in lines[at + 1]
    path.write_text('[prefetch]\nenabled = true\ntarget = "delay 3m"\n')
    assert "out of reach" not in check(path).output


def test_what_passthrough_will_remove_is_said_until_it_is_removed(tmp_path: Path) -> None:
    path, state = tmp_path / "c.toml", tmp_path / "state"
    path.write_text('[proxy]\nstate = "state"\npassthrough = ["bank.example", "*.clinic.example"]\n')
    said = "    a proxy that starts with this, or reloads it, removes all copies and histories of "
    lines = check(path).output.splitlines()
    assert lines[lines.index("  passthrough          bank.example, *.clinic.example") + 1] == (
        said + "bank.example, *.clinic.example"
    )
    state.mkdir()
    mark = hashlib.sha256(b"embedded").hexdigest()[:16]
    (state / "passthrough").write_text(f"{mark} bank.example\n")
    assert said + "*.clinic.example" in check(path).output.splitlines()
    path.write_text("[proxy]\n")
    assert "histories" not in check(path).output


def test_a_rule_that_no_request_reaches_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    patterns = ("a.example", "*.b.example", "x.b.example/feeds/*", "a.example/*", "b.example")
    path.write_text("".join(f'[[domain]]\nmatch = "{pattern}"\n' for pattern in patterns))
    lines = check(path).output.splitlines()
    said = {number: lines[lines.index(f"  {number}. {pattern}") + 1] for number, pattern in enumerate(patterns, 1)}
    assert {number: line for number, line in said.items() if "policy" not in line} == {
        3: "     never used: rule 2 matches all that it does",
        4: "     never used: rule 1 matches all that it does",
    }


def test_durations_of_a_policy_are_shown_with_their_units(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[default]\npolicy = "squid"\nmin = 90\n')
    assert "     policy = squid:min=90s,percent=20,max=3d," in check(path).output


def test_what_differs_from_the_defaults_is_shown_of_each_rule(tmp_path: Path) -> None:
    file = tmp_path / "proxy.toml"
    file.write_text('[default]\nfeed_etag = false\nfeed_delta = false\nfeed_hint = "2h"\nhonour_client_cc = false\n')
    lines = CliRunner().invoke(cli, ["check-config", str(file)]).output.splitlines()
    assert lines[lines.index("     obey = strict") + 1 :][:4] == [
        "     honour_client_cc = false", "     feed_etag = false", "     feed_delta = false", "     feed_hint = 2h"
    ]


def test_an_empty_file_is_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.touch()
    result = check(path)
    assert "  mode                 forward" in result.output
    assert "  allow_clients        loopback only, or any with credentials" in result.output


@pytest.mark.parametrize("toml", ["[proxy]\nlisen = 1\nkeep = 'x'", None])
def test_a_bad_or_missing_file_is_the_users_error(tmp_path: Path, toml: str | None) -> None:
    path = tmp_path / "c.toml"
    if toml is not None:
        path.write_text(toml)
    result = check(path)
    assert result.output == ""
    assert getattr(result.exception, "exit_code", None) == 2


def test_the_channel_of_a_hub_is_summed_up_without_its_password(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text('[hub]\nchannel = "rediss://me:secret@localhost/0"\nkey = "k"\nsubscribe = ["example.org/a/*"]\n')
    lines = check(path).output.splitlines()
    assert lines[lines.index("hub") + 1 :][:4] == [
        "  channel              rediss://***@localhost/0",
        f"  key                  {tmp_path / 'k'}",
        "  site                 all",
        "  subscribe            example.org/a/*",
    ]
    assert "  bandwidth            64KiB" in lines


def test_programs_get_the_values_or_the_errors(tmp_path: Path) -> None:
    (tmp_path / "proxy.toml").write_text(GOOD)
    found = json.loads(CliRunner().invoke(cli, ["check-config", str(tmp_path / "proxy.toml"), "--json"]).output)
    assert (found["ok"], found["proxy"]["hot_max"], found["proxy"]["mode"]) == (True, 100, "http://127.0.0.1:8000")
    rule, default = found["rules"]
    assert (rule["match"], rule["policy"]["params"]["max_ttl"]) == ("*.example.org/feeds/*", 21600.0)
    assert (rule["override"], rule["prefetch_limits"]["weight"]) == (["no-cache"], 2.0)
    assert default["policy"]["name"] == "indttl"
    assert found["prefetch"]["enabled"] is True
    (tmp_path / "proxy.toml").write_text("[proxy]\nlisten = 7\nhop = 1\n")
    result = CliRunner().invoke(cli, ["check-config", str(tmp_path / "proxy.toml"), "--json"])
    assert (result.exit_code, result.stderr) == (2, "")
    assert [":2:" in error or ":3:" in error for error in json.loads(result.stdout)["errors"]] == [True, True]
