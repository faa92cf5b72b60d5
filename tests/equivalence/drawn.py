"""The policies and traces on which each engine is held to the plain one."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
import pytest
from hypothesis import strategies as st

from bestbefore.policies.validation.machinery.spec import params, parse_spec, spec_text
from bestbefore.policies.validation.table import POLICIES, forms_of
from bestbefore.replay.kernels.rule import rule_of
from bestbefore.replay.traces.columns import files
from bestbefore.replay.traces.columns.columns import Requests, Updates

HOUR = 3600.0
DAY = 86400.0
PAIRED_EVERY = 4
"""Of the paired trace one in so many objects is replayed: 63 of 265, with 39,000 of 296,000 requests."""
EXCERPT_ORIGIN_S = 1706227200.0
EXCERPT_TEST_START_S = 1706918400.0

SPECS = [
    "ttl:alpha=0.2",
    "indhist:theta=0.2",
    "agghist:theta=0.2",
    "indagg:theta=0.2,threshold=0.5",
    "indttl:theta=0.2,alpha=0.2,window=1d,threshold=2",
    "agghist:theta=0.1,max_ttl=1d,min_ttl=10m,fallback=ttl+group,history_window=5d",
    "indagg:theta=0.1,max_ttl=1d,fallback=group+ttl,history_window=2d,bootstrap=7m",
    "agghist:theta=0.1,max_ttl=1d,fallback=none,history_window=5d",
    "oracle",
    "squid",
    "miniflux",
    "agghist:theta=0.2,segment_penalty=1",
    "nutch:initial=1d,max=3d",
    "stormcrawler:initial=1d,max=3d",
    "aimd",
]
MORE_SPECS = [
    "ttl:alpha=0",
    "ttl:alpha=3,max_ttl=2h",
    "ttl:alpha=0.1,min_ttl=1d,fallback=group",
    "indhist:theta=0",
    "indhist:theta=5",
    "indhist:theta=0.3,history_window=3h",
    "indhist:theta=0.3,fallback=group",
    "indhist:theta=1,fallback=ttl,bootstrap=0",
    "agghist:theta=0",
    "agghist:theta=2.5,history_window=6h",
    "indagg:threshold=0",
    "indagg:threshold=1",
    "indttl:threshold=0",
    "indttl:threshold=inf",
    "indttl:window=1,threshold=0.5",
    "indttl:window=9d,threshold=1,history_window=1d,fallback=none",
    "always",
    "never",
    "never:max_ttl=1h",
    "fixed:interval=90",
    "squid:min=60,percent=120,max=5h",
    "miniflux:factor=0",
    "miniflux:factor=2,min=1m,max=3h",
    "agghist:theta=0.5,segment_penalty=0.3,history_window=1d,fallback=ttl",
    "nutch:initial=2h,increase=3,decrease=0.9,sync=1,min=1m,max=1d",
    "nutch:initial=2h,sync=0,max_ttl=5h,min_ttl=1h",
    "stormcrawler:initial=2h,increase=2,decrease=0.9,min=1m,max=1d,max_ttl=12h",
    "aimd:step=2h,factor=0.2,min=1m,max=9h,history_window=1d",
    "indhist:theta=0.3,fallback=group,history_window=90m",
    "nutch:initial=1h,min=1m,max=3d",
    "stormcrawler:initial=1h,min=30m,max=2d",
    "aimd:step=10m,min=1m,max=12h",
]
BOUNDED = "max_ttl=1d,min_ttl=10m,fallback=group+ttl,history_window=2d,bootstrap=7m"
MORE_SPECS += [spec for name in POLICIES for spec in (name, f"{name}:{BOUNDED}") if spec not in SPECS + MORE_SPECS]
OTHER_FORMS = [spec_text(name, params(form())) for name in POLICIES for form in forms_of(name)[1:]]
MORE_SPECS += [spec for form in OTHER_FORMS for spec in (form, f"{form},{BOUNDED}")]
"""Each policy of the table is among them, with its defaults and within bounds."""
FEW_SPECS = [*SPECS, *OTHER_FORMS, *sorted(POLICIES.keys() - {spec.partition(":")[0] for spec in SPECS})]
"""Of each policy at least one."""


COMPILED_SPECS = [
    "agghist:theta=0.1,max_ttl=1d,min_ttl=10m,fallback=ttl+group,history_window=5d",
    "nutch:initial=1d,max=3d",
]
"""Whose kernels the fast tests compile, which takes one to six seconds each: one that needs histories, groups and
bounds, and one that keeps a state. Other fast tests compile these too, so that no further ones are compiled."""
COMPILED_FAST = (COMPILED_SPECS, COMPILED_SPECS[1:])
"""The same for each engine: in the second the first takes a quarter of a minute."""
IN_BOTH = ["renewal"]
"""Those whose kernels differ most between the engines."""
OF_COMPILED_PARTS = [
    "indagg:theta=0.2,threshold=0.5", "indagg:price=3,threshold=0.5", "indttl:price=3,window=1d,threshold=2",
]
"""Those not compiled by themselves: each calls one of two formulas, which others of these are compiled with, and the
choice between them is compiled with `indagg` and a fallback, and with `indttl`."""
OBSERVED = ["indhist:theta=0.2", "groupgap"]
"""Those compiled for the second engine, whose kernels take three times as long to compile: of an object's own updates,
and of its group's gaps; the fast tests compile one with groups and bounds, and one with a state."""
BY_HAND = ["always", "never", "fixed", "ttl:theta=0.1", "ttl:price=3"]
"""Those compiled only by `-m long`: a constant each, and formulas and tolerances that others are compiled with."""
LOOPS = ("as it stands", "compiled")


def kernel(spec: str) -> tuple[type[Any], type[Any]]:
    """What a kernel is compiled for: with or without a fallback, and the policy."""
    rule = rule_of(parse_spec(spec))
    assert rule is not None
    return type(rule), type(rule.own)


def is_compiled(spec: str, engine: int) -> bool:
    """Whether a policy of the few is compiled for an engine, 0 or 1: most are for one, as that takes seconds."""
    if spec in OF_COMPILED_PARTS:
        return False
    return spec in COMPILED_SPECS or spec in IN_BOTH or (spec in OBSERVED) == (engine == 1)


def fast_or_slow(specs: Sequence[str], engine: int) -> list[Any]:
    """The parameters `spec` and `names` of a test: each policy at least once, and the loops that replay it.

    Of the policies that are not among the few, those are compiled whose kernel is: it is the same.
    """
    kernels = {kernel(spec) for spec in FEW_SPECS if is_compiled(spec, engine) and spec not in BY_HAND}
    parameters = []
    for spec in specs:
        if spec not in FEW_SPECS:
            loops = LOOPS if kernel(spec) in kernels else LOOPS[:1]
            parameters.append(pytest.param(spec, loops, id=spec, marks=pytest.mark.slow))
        elif spec in COMPILED_FAST[engine]:
            parameters.append(pytest.param(spec, LOOPS, id=spec))
        else:
            parameters.append(pytest.param(spec, LOOPS[:1], id=f"{spec}-as it stands"))
            if is_compiled(spec, engine):
                marks = pytest.mark.long if spec in BY_HAND else pytest.mark.slow
                parameters.append(pytest.param(spec, LOOPS[1:], id=f"{spec}-compiled", marks=marks))
    return parameters


def compiled(specs: Sequence[str], settings: Iterable[tuple[Any, Any]], engine: int) -> list[Any]:
    """The parameters of a test of what is compiled for an engine: a policy, in two settings.

    The few policies of the fast tests come in each combination, the others in every other one: random traces are
    replayed in all.
    """
    every = list(settings)
    return [
        pytest.param(spec, *pair, marks=() if spec in COMPILED_FAST[engine] else pytest.mark.slow)
        for number, spec in enumerate(one for one in specs if is_compiled(one, engine))
        for pair in (every if spec in COMPILED_SPECS else every[number % 2 :: 2])
    ]

Trace = tuple[list[tuple[float, str]], list[tuple[float, str, str]]]
"""(time, object) of updates and (time, client, object) of requests, in any order."""

times = st.one_of(
    st.integers(0, 15).map(lambda n: n * 2 * HOUR),  # so that much happens at one instant, and at the edge of a bin
    st.integers(0, 3 * 24 * 60).map(lambda minutes: minutes * 60.0),
    st.floats(0.0, 9 * DAY).map(lambda t: round(t, 6)),  # microseconds: no rate is too large for a number
)
traces = st.tuples(
    st.lists(st.tuples(times, st.sampled_from(["p/a", "p/b", "q/c", "q/e"])), max_size=80),
    st.lists(st.tuples(times, st.sampled_from("xy"), st.sampled_from(["q/c", "p/a", "p/b", "r/d"])), max_size=80),
)


def columns(trace: Trace) -> tuple[Updates, Requests]:
    """The two columns of a random trace. Requests number objects in the order in which they are asked for first."""
    changed = sorted({name for _, name in trace[0]})
    clients, asked = sorted({c for _, c, _ in trace[1]}), list(dict.fromkeys(name for *_, name in trace[1]))
    updates = Updates.of(
        np.array([t for t, _ in trace[0]]),
        np.array([changed.index(name) for _, name in trace[0]], dtype=np.int32),
        tuple(changed),
    )
    requests = Requests.of(
        np.array([t for t, *_ in trace[1]]),
        np.array([clients.index(client) for _, client, _ in trace[1]], dtype=np.int32),
        np.array([asked.index(name) for *_, name in trace[1]], dtype=np.int32),
        tuple(clients),
        tuple(asked),
    )
    return updates, requests


@cache
def recorded_trace(updates: Path, requests: Path, every: int = 1) -> tuple[Updates, Requests]:
    """The updates and requests of one in so many of the objects of two files."""
    changed, asked = files.read_updates(updates, pytest.fail), files.read_requests(requests, pytest.fail)
    if every == 1:
        return changed, asked
    of_changed, of_asked = (
        np.array([crc32(name.encode()) % every == 0 for name in column.objects])[column.object_ids]
        for column in (changed, asked)
    )
    return (
        Updates.of(changed.times_s[of_changed], changed.object_ids[of_changed], changed.objects),
        Requests.of(
            asked.times_s[of_asked], asked.client_ids[of_asked], asked.object_ids[of_asked], asked.clients,
            asked.objects,
        ),
    )
