import os
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mitmproxy.certs import CertStore

from bestbefore.addon.config.domain_sections import LIVE_POLICIES
from bestbefore.addon.config.load import Config, load_config
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.config.settings import Address, Settings
from bestbefore.addon.prefetch_limits import FetchRate
from bestbefore.policies.validation.rules.agghist import AggHist
from bestbefore.policies.validation.rules.indagg import IndAgg
from bestbefore.policies.validation.rules.indttl import IndTtl
from bestbefore.policies.validation.rules.ttl import MassTtl, Ttl

HOUR_S, DAY_S = 3600.0, 86400.0

type Load = Callable[..., Config]
type Problems = Callable[..., list[str]]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads a configuration from its text."""

    def load(toml: str | bytes, **options: object) -> Config:
        path = tmp_path / "c.toml"
        path.write_bytes(toml if isinstance(toml, bytes) else toml.encode())
        return load_config(path, options)

    return load


@pytest.fixture
def problems(load: Load, tmp_path: Path) -> Problems:
    """What is wrong with a configuration, each line without the folder of the file."""

    def problems(toml: str | bytes, **options: object) -> list[str]:
        with pytest.raises(ConfigError) as error:
            load(toml, **options)
        return [problem.removeprefix(f"{tmp_path}/") for problem in error.value.problems]

    return problems


def test_without_file_and_options_everything_has_its_default() -> None:
    config = load_config(None, environ={"XDG_STATE_HOME": "/var/state"})
    assert config.settings == Settings(state=Path("/var/state/bestbefore"))
    policy = config.rules.default.policy
    assert policy.policy == IndTtl(theta=0.1, alpha=0.1, window_s=DAY_S, threshold=2)
    assert (policy.max_ttl_s, policy.min_ttl_s, policy.bootstrap_s) == (DAY_S, 0, 60)
    assert policy.history_window_s == 28 * DAY_S
    assert [rule.name for rule in policy.fallback or ()] == ["ttl", "group"]
    assert config.rules.default.obey == "strict"
    assert config.rules.default.honour_client_cc
    assert config.rules.domains == ()


def test_an_empty_file_is_the_defaults(load: Load) -> None:
    assert load("") == load_config(None)


@pytest.mark.parametrize("environ", [{"HOME": "/home/u"}, {"HOME": "/home/u", "XDG_STATE_HOME": "relative"}])
def test_the_state_is_in_the_home_folder_where_the_environment_names_no_place(environ: dict[str, str]) -> None:
    assert load_config(None, environ=environ).settings.state == Path("/home/u/.local/state/bestbefore")


def test_an_option_goes_before_the_file_and_the_file_before_the_default(load: Load) -> None:
    config = load('[proxy]\nlisten = "127.0.0.1:1"\nadmin = "off"', listen="127.0.0.1:2", store=None)
    assert config.settings.listen == Address("127.0.0.1", 2)
    assert config.settings.admin is None
    assert config.settings.store == "embedded"


def test_every_setting_can_be_read_from_the_file(load: Load, tmp_path: Path) -> None:
    (tmp_path / "users").write_text("ann:pw")
    toml = """
[proxy]
listen = "[::]:3128"
workers = 4
mode = "reverse:https://origin.example"
state = "state"
store = "redis://localhost:6379/1"
admin = "off"
store_max = "2GiB"
hot_max = 1048576
max_cached_body = "16MiB"
max_cached_file = "1GiB"
files_max = "20GiB"
in_flight_max = "128MiB"
keep = "14d"
stale_if_down = "1d"
offline = true
targeted = ["CDN-Cache-Control"]
via_request = false
traffic_log = true
traffic_keep = "7d"
traffic_clients = "none"
log_format = "{time} {url}"
log_file = "access.log"
log_keep = "60d"
log_query = true
passthrough = ["*.bank.example", "bank.example"]
allow_clients = ["192.0.2.0/24", "2001:db8::/32"]
proxy_protocol_from = ["10.0.0.1"]
credentials = "users"
admin_credentials = "users"
connect_ports = [443]
upstream = "http://parent:3128"
connect_timeout = "5s"
head_timeout = "7s"
read_timeout = "30s"
idle_timeout = "1h"
"""
    settings = load(toml).settings
    defaults = Settings(state=load_config(None).settings.state)
    assert [f.name for f in fields(Settings) if getattr(settings, f.name) == getattr(defaults, f.name)] == []
    assert settings.state == tmp_path / "state"
    assert settings.targeted == ("cdn-cache-control",)
    assert settings.stale_if_down == DAY_S


def test_the_settings_that_rules_bear_are_in_each_rule(load: Load) -> None:
    rules = load('[proxy]\nstale_if_down = "1h"\n[[domain]]\nmatch = "a.org"').rules
    assert rules.default.stale_if_down_s == HOUR_S
    assert rules.rule_for("a.org", "/").stale_if_down_s == HOUR_S


INHERITANCE = """
[default]
policy = "indagg"
theta = 0.3
threshold = 0.7
max_ttl = "6h"
obey = "shorten"
group = "all"

[[domain]]
match = "same.org"

[[domain]]
match = "theta.org"
theta = 0.05
min_ttl = "1m"

[[domain]]
match = "other.org"
policy = "agghist"
obey = "override"
override = ["no-cache"]

[[domain]]
match = "again.org"
policy = "indagg"
"""


def test_a_rule_inherits_everything_from_the_default(load: Load) -> None:
    rules = load(INHERITANCE).rules
    same = rules.rule_for("same.org", "/")
    assert same.policy == rules.default.policy
    assert same.policy.policy == IndAgg(theta=0.3, threshold=0.7)
    assert (same.obey, same.group) == ("shorten", "all")


def test_a_rule_that_names_no_policy_changes_single_parameters(load: Load) -> None:
    policy = load(INHERITANCE).rules.rule_for("theta.org", "/").policy
    assert policy.policy == IndAgg(theta=0.05, threshold=0.7)
    assert (policy.min_ttl_s, policy.max_ttl_s) == (60, 6 * HOUR_S)


def test_a_rule_inherits_no_parameter_that_its_own_exclude(load: Load) -> None:
    given = '[default]\npolicy = "ttl"\nalpha = 0.2\nmax_ttl = "1h"\n[[domain]]\nmatch = "a"\ntheta = 0.3\n'
    policy = load(given).rules.rule_for("a", "/").policy
    assert (policy.policy, policy.max_ttl_s) == (MassTtl(0.3), 3600.0)


@pytest.mark.parametrize(("host", "policy"), [("other.org", AggHist(theta=0.1)), ("again.org", IndAgg())])
def test_a_rule_that_names_a_policy_inherits_bounds_but_no_parameters(load: Load, host: str, policy: object) -> None:
    rule = load(INHERITANCE).rules.rule_for(host, "/")
    assert rule.policy.policy == policy
    assert rule.policy.max_ttl_s == 6 * HOUR_S


def test_the_keys_of_a_rule_that_are_not_of_its_policy(load: Load) -> None:
    rule = load(
        '[[domain]]\nmatch = "a.org"\ngroup = "g"\nlearn_without_validator = true\ntrust_piggyback = true\n'
        'honour_client_cc = false\nfallback = ["group"]\nobey = "override"\noverride = ["no-cache", "s-maxage"]'
    ).rules.rule_for("a.org", "/")
    assert (rule.group, rule.learn_without_validator, rule.trust_piggyback) == ("g", "always", True)
    assert not rule.honour_client_cc
    assert rule.override == {"no-cache", "s-maxage"}
    assert [fallback.name for fallback in rule.policy.fallback or ()] == ["group"]


def test_rules_may_stand_in_an_inline_array(load: Load) -> None:
    rules = load('domain = [{match = "a.org", policy = "ttl", alpha = 0.5}]').rules
    assert rules.rule_for("a.org", "/").policy.policy == Ttl(alpha=0.5)


def test_the_defaults_of_prefetching_are_documented_ones(load: Load) -> None:
    prefetch = load("").prefetch
    assert not prefetch.enabled
    assert prefetch.robots
    assert (prefetch.budget, prefetch.objective) == (FetchRate(5000, 86_400.0), "freshness")
    assert (prefetch.per_host_interval, prefetch.connections_per_host) == (2.0, 1)
    assert prefetch.user_agent.startswith("bestbefore")


@pytest.mark.parametrize(
    ("text", "per_day"), [("24/hour", 576.0), ("5000/day", 5000.0), ("7 / week", 1.0), ("1/day", 1.0)]
)
def test_a_budget_is_a_number_in_a_period(load: Load, text: str, per_day: float) -> None:
    assert load(f'[prefetch]\nenabled = true\nbudget = "{text}"').prefetch.budget.per_day == per_day


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('budget = "0/day"', 'such as "5000/day"'),
        ('budget = "5000"', 'such as "5000/day"'),
        ("budget = 5000", 'such as "5000/day"'),
        ('budget = "5/fortnight"', 'such as "5000/day"'),
        ('budget_bytes = "2GB"', 'such as "2GiB/day"'),
        ('budget_bytes = "2/fortnight"', 'such as "2GiB/day"'),
        ("budget_bytes = 5", 'such as "2GiB/day"'),
        ('target = "freshness 1"', 'such as "freshness 0.8"'),
        ('target = "delay"', 'such as "freshness 0.8"'),
        ('target = "uniform 1"', 'such as "freshness 0.8"'),
        ('target = "age 0"', 'such as "freshness 0.8"'),
        ('target = "age 2h"\nobjective = "delay"', "objective is delay: leave it out"),
        ('objective = "fresh"', "did you mean freshness?"),
        ('timing = "evenly"', "did you mean even?"),
        ('per_host_interval = "-1s"', "expected a duration"),
        ('replan = "1h"', "there is no such key any more, as no plan is made in advance: remove this line"),
        ("connections_per_host = 0", "from 1 to 16"),
        ("connections_per_host = true", "from 1 to 16"),
        ('robots = "yes"', "expected true or false"),
        ('user_agent = ""', "printable ASCII"),
        ('user_agent = "a\\r\\nb"', "printable ASCII"),
    ],
)
def test_what_is_wrong_in_prefetch_is_said_with_its_line(load: Load, line: str, expected: str) -> None:
    with pytest.raises(ConfigError) as error:
        load(f"[prefetch]\n{line}")
    (problem,) = error.value.problems
    assert ":2: [prefetch] " in problem
    assert expected in problem


def test_a_target_names_the_objective_and_a_byte_budget_has_a_period(load: Load) -> None:
    prefetch = load('[prefetch]\ntarget = "delay 10m"\nbudget_bytes = "7MiB/week"').prefetch
    assert prefetch.target is not None
    assert prefetch.budget_bytes is not None
    assert (prefetch.objective, prefetch.target.measure, prefetch.target.value) == ("delay", "delay", 600.0)
    assert (prefetch.budget_bytes.per_day, str(prefetch.budget_bytes)) == (1 << 20, "7MiB/week")
    assert load('[prefetch]\nobjective = "age"\ntarget = "age 2h"').prefetch.objective == "age"


def test_only_a_log_file_can_be_kept(load: Load, problems: Problems) -> None:
    told = "there is no log file to keep: set log_file too"
    assert problems('[proxy]\nlog_keep = "30d"') == [f'c.toml:2: [proxy] log_keep = "30d": {told}']
    assert load('[proxy]\nlog_keep = "30d"', log_file="access.log").settings.log_keep == 30 * 86_400


@pytest.mark.parametrize("listen", ["0.0.0.0:8080", "[::]:8080", "proxy.lan:8080"])
def test_listening_beyond_loopback_needs_clients_or_credentials(
    load: Load, problems: Problems, tmp_path: Path, listen: str
) -> None:
    (tmp_path / "users").write_text("ann:pw")
    told = "beyond loopback, anyone could use the proxy: set allow_clients or credentials too"
    assert problems(f'[proxy]\nlisten = "{listen}"') == [f'c.toml:2: [proxy] listen = "{listen}": {told}']
    assert problems("", listen=listen) == [f'option listen = "{listen}": {told}']
    assert load(f'[proxy]\nlisten = "{listen}"\nallow_clients = ["192.0.2.0/24"]')
    assert load(f'[proxy]\nlisten = "{listen}"\ncredentials = "users"')


def test_all_errors_come_at_once_in_the_order_of_their_lines(problems: Problems) -> None:
    toml = """\
[proxy]
lisen = "127.0.0.1:8080"
max_cached_body = "8MB"

[[domain]]
match = "*.example.org"
policy = "indtl"
theta = -1
obey = "overide"

[[domain]]
alpha = "much"

[defaults]
"""
    found = problems(toml, admin="8081")
    assert [problem.partition(": ")[0] for problem in found] == [
        "c.toml:2", "c.toml:3", "c.toml:7", "c.toml:8", "c.toml:9", "c.toml:11", "c.toml:12", "c.toml:14",
        'option admin = "8081"',
    ]


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        ('[proxy]\nlisen = "x"', 'c.toml:2: [proxy] lisen = "x": there is no such key, did you mean listen?'),
        ("[default]\ntheat = 0.1", "c.toml:2: [default] theat = 0.1: there is no such key, did you mean theta?"),
        (
            '[default]\npolicy = "indtl"',
            'c.toml:2: [default] policy = "indtl": expected one of '
            f"{', '.join(LIVE_POLICIES)}; did you mean indttl?",
        ),
        (
            '[default]\npolicy = "oracle"',
            'c.toml:2: [default] policy = "oracle": it can only be replayed, since it knows the future',
        ),
        (
            '[default]\npolicy = "nutch"',
            'c.toml:2: [default] policy = "nutch": it can only be replayed, since the proxy does not keep the state '
            "that it needs",
        ),
        (
            '[default]\npolicy = "sqid"\npercent = 10',
            'c.toml:2: [default] policy = "sqid": expected one of '
            f"{', '.join(LIVE_POLICIES)}; did you mean squid?",
        ),
        ("[domian]", "c.toml:1: domian: there is no such section, did you mean domain?"),
        (
            "zzz = 1",
            "c.toml:1: zzz: there is no such section, expected one of proxy, default, domain, prefetch, websub, hub",
        ),
        (
            '[[domain]]\npolicy = "ttl"',
            'c.toml:1: [[domain]] match is missing: expected a pattern, such as "*.example.org"',
        ),
        ("[domain]", 'c.toml:1: expected sections that each begin with the line [[domain]], and then match = "HOST"'),
        ('[proxy]\n[domain."a.org"]', 'c.toml:2: expected sections that each begin with the line [[domain]], and then '
         'match = "HOST"'),
        ("keep = 1", "c.toml:1: keep: this is a key of [proxy]"),
        ("[proxy]\ntheta = 1", "c.toml:2: [proxy] theta = 1: this is a key of [default] and [[domain]]"),
        ('[[domain]]\nmatch = "a.org:80"', "c.toml:2: [[domain]] match = \"a.org:80\": 'a.org:80' is not a host "
         "pattern: expected a host, *.DOMAIN or *, without port"),
        ('[proxy]\npassthrough = "a.b"', 'c.toml:2: [proxy] passthrough = "a.b": expected a list, such as ["a.b"]'),
        ("proxy = 1", "c.toml:1: expected a section that begins with the line [proxy]"),
        (
            '[[domain]]\nmatch = "a"\nmin_ttl = "2d"',
            "c.toml:3: [[domain]] min_ttl (172800 s) must not exceed max_ttl (86400 s)",
        ),
        (
            '[default]\nmin_ttl = "2d"\nmax_ttl = "1d"',
            "c.toml:2: [default] min_ttl (172800 s) must not exceed max_ttl (86400 s)",
        ),
        (
            '[default]\nmax_ttl = "inf"',
            'c.toml:2: [default] max_ttl = "inf": expected a duration, such as "90s", "15m", "6h", "7d" or a number of '
            "seconds",
        ),
        (
            '[[domain]]\nmatch = "a"\noverride = ["no-store"]',
            'c.toml:3: [[domain]] override = ["no-store"]: item 1: expected one of must-revalidate, no-cache, '
            "proxy-revalidate, s-maxage",
        ),
        ("[prefetch]\nbugdet = 1", "c.toml:2: [prefetch] bugdet = 1: there is no such key, did you mean budget?"),
        ("[proxy]\noffline = 1", "c.toml:2: [proxy] offline = 1: expected true or false"),
    ],
)
def test_an_error_names_file_line_key_value_and_what_was_expected(problems: Problems, toml: str, line: str) -> None:
    assert problems(toml) == [line]


def test_a_parameter_of_another_policy_is_refused_at_its_line(problems: Problems) -> None:
    (found,) = problems('[[domain]]\nmatch = "a"\npolicy = "ttl"\nwindow = 0.1')
    assert found.startswith("c.toml:4: [[domain]] window = 0.1: unknown parameter of ttl 'window'")


def test_parameters_that_exclude_each_other_are_refused(problems: Problems) -> None:
    assert problems('[default]\npolicy = "ttl"\nalpha = 0.1\ntheta = 0.1') == [
        "c.toml:3: [default] alpha and theta exclude each other: expected one of them"
    ]


def test_a_wrong_default_is_not_said_again_for_each_rule(problems: Problems) -> None:
    found = problems('[default]\ntheta = -1\n[[domain]]\nmatch = "a"\n[[domain]]\nmatch = "b"\nalpha = 1')
    assert len(found) == 1


def test_the_password_of_a_url_is_not_shown(problems: Problems) -> None:
    (found,) = problems('[proxy]\nstore = "redis://me:secret/@redis:port"')
    assert "secret" not in found
    assert '"redis://***@redis:port"' in found


def test_a_key_or_value_with_line_breaks_stays_on_one_line(problems: Problems) -> None:
    found = problems('[proxy]\n"a\\nb\\u2028c" = "d\\ne\\u2028f"')
    assert len(found) == len("\n".join(found).splitlines()) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[proxy", "c.toml:1: not valid TOML: "),
        (b"\n\na = ", "c.toml:3: not valid TOML: a =: expected a value after ="),
        (b"a = 1\nb = 2 3", "c.toml:2: not valid TOML: "),
        (b"a = 1\nb = '\xff'", "c.toml:2: byte 0xff is not UTF-8"),
        (b"a = " + b"[" * 100_000, "c.toml: not valid TOML: nested too deeply"),
        (b"a = " + b"1" * 5000, "c.toml: not valid TOML: "),
        (b"#" * (1 << 20) + b"#", "c.toml: larger than 1 MiB"),
        (b"\x00" * 10, "c.toml:1: not valid TOML: "),
    ],
)
def test_what_is_not_toml_is_refused_in_one_line(problems: Problems, content: bytes, message: str) -> None:
    (found,) = problems(content)
    assert found.startswith(message)


def test_the_line_of_a_byte_that_is_not_utf_8_counts_from_the_first(problems: Problems) -> None:
    assert problems(b"\n# \xff") == ["c.toml:2: byte 0xff is not UTF-8: expected a text that is saved as UTF-8"]


def test_a_file_may_have_one_mebibyte_and_no_more(load: Load, problems: Problems) -> None:
    largest = b"#" * (1 << 20)
    assert load(largest).settings == load("").settings
    assert problems(largest + b"#") == ["c.toml: larger than 1 MiB: not a configuration file"]


def test_a_byte_order_mark_does_not_matter(load: Load) -> None:
    assert load(b'\xef\xbb\xbf[proxy]\nadmin = "off"').settings.admin is None


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "none", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError) as error:
            load_config(path)
        assert error.value.problems == (f"{path}: cannot be read: {why}",)


KEYS = st.sampled_from(
    ["match", "policy", "theta", "alpha", "window", "threshold", "max_ttl", "min_ttl", "fallback", "history_window",
     "bootstrap", "obey", "override", "group", "honour_client_cc", "enabled", "budget", "q", '"a b"',
     *(f.name for f in fields(Settings))]
)
SCALARS = st.sampled_from(
    ["0", "-1", "1e400", "nan", "-inf", "0.5", "true", "''", "'ttl'", "'indttl'", "'agghist'", "'1d'", "'inf'",
     "'8MiB'", "'a.org'", "'*.org/x*'", "'127.0.0.1:80'", "'0.0.0.0:80'", "'override'", "'no-cache'", "'group'",
     "'off'",
     "1979-05-27", "07:32:00", "'http://h:1'", '"\\u0000"', "9999999999999999999999"]
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=2).map(lambda items: f"[{', '.join(items)}]")
    | st.tuples(KEYS, inner).map(lambda pair: f"{{{pair[0]} = {pair[1]}}}"),
    max_leaves=3,
)
SECTIONS = st.sampled_from(["[proxy]", "[default]", "[[domain]]", "[domain]", "[prefetch]", "[x]", "[[proxy]]"])
LINES = SECTIONS | st.tuples(KEYS, VALUES).map(" = ".join)
PLAUSIBLE = st.lists(LINES, max_size=6).map(lambda lines: "\n".join(lines).encode())


@given(PLAUSIBLE | st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
@example(b"[default]\npolicy = 'agghist'\nfallback = [[]]")
@settings(
    max_examples=500, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_the_file_holds_only_the_error_for_the_user_is_raised(load: Load, content: bytes) -> None:
    with suppress(ConfigError):
        load(content)


def test_each_prefix_of_a_good_file_is_accepted_or_refused_in_lines_with_its_name(load: Load, tmp_path: Path) -> None:
    whole = INHERITANCE.encode()
    for length in range(len(whole)):
        try:
            load(whole[:length])
        except ConfigError as error:
            for problem in error.problems:
                assert re.match(rf"{re.escape(os.fspath(tmp_path))}/c\.toml(:\d+)?: ", problem)


def test_the_authorities_of_origins_are_read_from_their_file(load: Load, problems: Problems, tmp_path: Path) -> None:
    CertStore.from_store(tmp_path, "own", 2048)
    rules = load('[default]\norigin_ca = "own-ca.pem"\n[[domain]]\nmatch = "a.example"\nverify = false').rules
    trust = rules.trust_of("a.example")
    assert trust.ca is not None
    assert trust.ca.file == str(tmp_path / "own-ca.pem")
    assert "PRIVATE KEY" in (tmp_path / "own-ca.pem").read_text()
    assert "PRIVATE KEY" not in trust.ca.pem
    assert (trust.verify, rules.trust_of("b.example").verify) == (False, True)
    expected = "expected a file of certificates in PEM form (-----BEGIN CERTIFICATE-----)"
    assert problems('[default]\norigin_ca = "c.toml"') == [f'c.toml:2: [default] origin_ca = "c.toml": {expected}']
    assert problems('[[domain]]\nmatch = "a.example/b"\nverify = true') == [
        "c.toml:3: [[domain]] verify = true: a connection is for a whole host: match has a path"
    ]
