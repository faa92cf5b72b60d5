import doctest
import math
import re

import pytest

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.never import Never
from bestbefore.policies.validation.baselines.squid import Squid
from bestbefore.policies.validation.machinery import spec
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS, Bounded
from bestbefore.policies.validation.machinery.fallback import GroupMember, LastUpdate
from bestbefore.policies.validation.machinery.policy import Formula, Policy
from bestbefore.policies.validation.machinery.spec import (
    Value,
    form_with,
    go_together,
    make_policy,
    params,
    parse_duration,
    parse_spec,
    spec_text,
)
from bestbefore.policies.validation.rules.agghist import AggHist
from bestbefore.policies.validation.rules.indagg import IndAgg
from bestbefore.policies.validation.rules.indhist import IndHist
from bestbefore.policies.validation.rules.indttl import IndTtl, PricedIndTtl
from bestbefore.policies.validation.rules.ttl import Ttl
from bestbefore.policies.validation.table import POLICIES, forms_of


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("ttl", Ttl(0.1)),
        ("ttl:alpha=0.2", Ttl(0.2)),
        ("indhist:theta=.05", IndHist(0.05)),
        ("agghist", AggHist(0.1)),
        ("indagg:theta=0.2,threshold=0.5", IndAgg(0.2, 0.5)),
        ("indttl", IndTtl(0.1, 0.1, 86400.0, 2.0)),
        ("indttl:theta=0.2,alpha=0.3,window=6h,threshold=inf", IndTtl(0.2, 0.3, 21600.0, math.inf)),
        ("ttl:max_ttl=1d", Bounded(Ttl(), max_ttl_s=86400.0)),
        ("ttl: alpha = 0.2 , min_ttl = 90", Bounded(Ttl(0.2), min_ttl_s=90.0)),
        ("indhist:theta=0.2,fallback=ttl+group",
         Bounded(IndHist(0.2), fallback=(LastUpdate(0.1), GroupMember(0.2)))),
        ("indttl:alpha=0.3,fallback=ttl,bootstrap=5m,history_window=28d",
         Bounded(IndTtl(alpha=0.3), fallback=(LastUpdate(0.3),), bootstrap_s=300.0, history_window_s=28 * 86400.0)),
        ("indhist:fallback=none", Bounded(IndHist(), fallback=())),
        ("agghist:fallback=ttl+group", Bounded(AggHist(), fallback=())),
        ("never:max_ttl=7d", Bounded(Never(), max_ttl_s=7 * 86400.0)),
        ("squid:min=5m,percent=50,max=1d", Squid(300.0, 50.0, 86400.0)),
    ],
)
def test_a_spec_is_the_policy_it_describes(text: str, policy: Policy) -> None:
    assert parse_spec(text) == policy
    assert make_policy(policy.name, params(policy)) == policy
    assert parse_spec(spec_text(policy.name, params(policy))) == policy


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("indtl", f"unknown policy 'indtl', did you mean 'indttl'? (known: {', '.join(POLICIES)})"),
        ("", "unknown policy '' (known: ttl, indhist, "),
        ("TTL", "unknown policy 'TTL', did you mean 'ttl'?"),
        ("indhist:thta=1", "unknown parameter of indhist 'thta', did you mean 'theta'?"),
        ("ttl:thet=1", "unknown parameter of ttl 'thet', did you mean 'theta'? (known: alpha, theta, "),
        ("ttl:max_tl=1", "did you mean 'max_ttl'?"),
        ("indttl:theta=1,stale_rate=0.1", "theta and stale_rate exclude each other: expected one of them"),
        ("ttl:price=1,stale_rate=0.1", "price and stale_rate exclude each other: expected one of them"),
        ("fixed:stale_rate=0.1", "stale_rate: fixed has no price that could be controlled"),
        ("ttl:stale_rate=5", "stale_rate must be a number from 1e-06 to 1, not 5"),
        ("ttl:theta=1,alpha=1", "alpha and theta exclude each other: expected one of them"),
        ("ttl:", "'' in 'ttl:': expected key=value"),
        ("ttl:alpha", "'alpha' in 'ttl:alpha': expected key=value"),
        ("ttl:alpha=", "expected key=value"),
        ("ttl:alpha=1,alpha=2", "'alpha' in 'ttl:alpha=1,alpha=2' is given twice"),
        ("ttl:alpha=x", "alpha: 'x' is not a number"),
        ("ttl:alpha=1_0", "alpha: '1_0' is not a number"),
        ("ttl:alpha=nan", "alpha: 'nan' is not a number"),
        ("ttl:alpha=inf", "alpha must be a finite number of 0 or more, not inf"),
        ("ttl:max_ttl=1w", "max_ttl: '1w' is not a duration: expected a number and s, m, h or d"),
        ("ttl:max_ttl=-1", "max_ttl: '-1' is not a duration"),
        ("indhist:fallback=ttl+grup", "unknown fallback 'grup', did you mean 'group'? (known: ttl, group)"),
        ("indhist:fallback=ttl+", "unknown fallback ''"),
        ("oracle:theta=1", "unknown parameter of oracle 'theta' (known: min_ttl, max_ttl, "),
        ("squid:min=2h,max=1h", "min (7200 s) must not exceed max (3600 s)"),
        ("fixed:interval=inf", "interval must be a finite number of 0 or more, not inf"),
        ("ttl:min_ttl=2d,max_ttl=1d", "min_ttl (172800 s) must not exceed max_ttl (86400 s)"),
    ],
)
def test_what_is_wrong_with_a_spec_is_said_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        parse_spec(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (True, "theta: True is not a number"),
        ([0.1], "theta: [0.1] is not a number"),
    ],
)
def test_a_value_of_the_wrong_kind_is_no_number(value: Value, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make_policy("indhist", {"theta": value})


@pytest.mark.parametrize("value", [5, [5], True, [["ttl"]]])
def test_a_fallback_is_a_list_of_names(value: Value) -> None:
    with pytest.raises(ValueError, match="unknown fallback"):
        make_policy("indhist", {"fallback": value})


def test_values_of_a_configuration_may_be_numbers_durations_or_lists() -> None:
    policy = make_policy("indttl", {"theta": 1, "window": "6h", "max_ttl": 3600, "fallback": ["group"]})
    assert policy == Bounded(IndTtl(1.0, window_s=21600.0), max_ttl_s=3600.0, fallback=(GroupMember(1.0),))


@pytest.mark.parametrize("name", POLICIES)
def test_the_live_defaults_are_a_spec(name: str) -> None:
    policy = make_policy(name, LIVE_DEFAULTS)
    assert policy.name == name
    assert make_policy(name, params(policy)) == policy


@pytest.mark.parametrize("form", [form for name in POLICIES for form in forms_of(name)])
def test_the_keys_choose_the_form_of_a_policy(form: type[Formula]) -> None:
    assert parse_spec(spec_text(form.name, params(form()))) == form()
    assert {form_with(form.name, {key}).name for key in params(form())} <= {form.name}


def test_parameters_are_reported_in_seconds_and_infinity_in_words() -> None:
    assert params(parse_spec("indttl:window=6h,threshold=inf,fallback=ttl,max_ttl=1d")) == {
        "theta": 0.1,
        "alpha": 0.1,
        "window": 21600.0,
        "threshold": "inf",
        "min_ttl": 0.0,
        "max_ttl": 86400.0,
        "fallback": ["ttl"],
        "bootstrap": 60.0,
        "history_window": "inf",
    }


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(90, 90.0), ("90", 90.0), ("90s", 90.0), ("1.5m", 90.0), ("2h", 7200.0), ("7d", 604800.0), ("0", 0.0),
     (" 5m ", 300.0), ("inf", math.inf), (math.inf, math.inf), (0.5, 0.5)],
)
def test_durations(value: Value, seconds: float) -> None:
    assert parse_duration(value) == seconds


@pytest.mark.parametrize("value", ["", "h", "1w", "-1s", -1, "nan", math.nan, "infd", "1_0s", "1h30m", True, ["1h"]])
def test_what_is_no_duration_is_refused_with_its_value(value: Value) -> None:
    with pytest.raises(ValueError, match="is not a duration: expected a number and s, m, h or d"):
        parse_duration(value)


def test_a_policy_is_written_as_people_write_it() -> None:
    policy = parse_spec("indttl:theta=0.2,window=86400,max_ttl=inf,min_ttl=90,fallback=ttl+group,history_window=28d")
    assert spec_text(policy.name, params(policy)) == (
        "indttl:theta=0.2,alpha=0.1,window=1d,threshold=2,min_ttl=90s,max_ttl=inf,fallback=ttl+group,bootstrap=1m,"
        "history_window=28d"
    )
    assert spec_text("oracle", {}) == "oracle"
    assert spec_text("indhist", {"fallback": []}) == "indhist:fallback=none"


def test_durations_are_written_as_the_examples_say() -> None:
    assert doctest.testmod(spec) == (0, 1)


def test_a_stale_rate_controls_the_price_of_the_form_that_has_one() -> None:
    policy = parse_spec("indttl:stale_rate=5%,window=1h,max_ttl=1d")
    assert policy == Bounded(PricedIndTtl(window_s=3600.0), max_ttl_s=86400.0, stale_rate=0.05)
    assert "price" not in params(policy)
    assert parse_spec(spec_text("indttl", params(policy))) == policy
    history = History.of([0.0, 1000.0], 0.0)
    controlled, priced = parse_spec("indttl:stale_rate=5%"), parse_spec("indttl:price=0.01,max_ttl=1d")
    assert controlled.verdict(history, None, 1e6, price=0.01) == priced.verdict(history, None, 1e6)
    assert controlled.verdict(history, None, 1e6, price=1e-6).expiry_s == 1e6 + 86400.0, "no lifetime is longer"


@pytest.mark.parametrize(
    ("name", "keys", "together"),
    [
        ("indttl", ("stale_rate", "window"), True),
        ("indttl", ("price", "stale_rate"), False),
        ("indttl", ("stale_rate", "theta"), False),
        ("renewal", ("stale_rate", "stale_rate"), True),
        ("fixed", ("stale_rate", "interval"), False),
    ],
)
def test_a_stale_rate_goes_with_what_a_price_goes_with(name: str, keys: tuple[str, str], together: bool) -> None:
    assert go_together(name, *keys) is together
