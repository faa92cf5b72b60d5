"""The loops of `walk`, `observed` and `learning`, compiled by numba at the first call for each policy.

Compiled code identifies a policy by the class of its parameters (`rule.parameters_of`), and calls the policy's own
`decide`. So the loops are compiled once for each policy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core.errors import NumbaError, UnsupportedBytecodeError
from numpy.typing import NDArray

from bestbefore.policies.models.intensity import HOURLY_S
from bestbefore.policies.units import BINS
from bestbefore.policies.validation.machinery.bounds import Rule, RuleWithFallback
from bestbefore.policies.validation.machinery.features import RECENT_GAPS, ByBin
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.tolerance import Mass, Price, Share
from bestbefore.replay.kernels import learning, observed, siblings, walk
from bestbefore.replay.kernels.arrays import memories
from bestbefore.replay.kernels.arrays.histories import PackedHistories
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.kernels.compilable import make_compilable, make_method_compilable, make_methods_compilable
from bestbefore.replay.kernels.compiling import compiled
from bestbefore.replay.kernels.complete_features import CompleteFeatures
from bestbefore.replay.kernels.controlled import Controlled, Uncontrolled
from bestbefore.replay.kernels.known import Known, KnownByContacts, KnownCompletely
from bestbefore.replay.kernels.learning import LearntColumns
from bestbefore.replay.kernels.observed import CopyColumns
from bestbefore.replay.kernels.observed_features import ObservedFeatures
from bestbefore.replay.kernels.prefetching import make_prefetch_compilable
from bestbefore.replay.kernels.rule import AnyRule, in_numbers, parameters_of
from bestbefore.replay.kernels.siblings import SiblingColumns
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.traces.columns.columns import Requests, Updates

make_prefetch_compilable()  # before what calls it is registered
for named in (
    CompleteFeatures, ObservedFeatures, KnownByContacts, KnownCompletely, Rule, RuleWithFallback, Share, Mass, Price,
    Controlled, Uncontrolled,
):
    make_methods_compilable(named)
for loop in (
    walk.replay, observed.replay, learning.learn_all, learning.report_all, memories.remember, memories.count_requests,
    siblings.contact_sites,
):
    make_compilable(loop)

_replay = compiled(walk.replay)
_replay_observed = compiled(observed.replay)
learn_all = compiled(learning.learn_all)
remember = compiled(memories.remember)
count_requests = compiled(memories.count_requests)
report_all = compiled(learning.report_all)
contact_sites = compiled(siblings.contact_sites)


def by_bin() -> ByBin:
    """Make the working arrays of one thread."""
    ints = [np.zeros(n, dtype=np.int64) for n in (BINS, BINS + 1, BINS + 1)]
    floats = [np.zeros(n) for n in (BINS, BINS, BINS + 1, BINS + 1, RECENT_GAPS)]
    hourly_s = np.array(HOURLY_S)
    columns: list[Any] = [hourly_s, hourly_s, ints[0], *floats[:2], *ints[1:], *floats[2:]]
    return ByBin(*columns)


def late() -> NDArray[np.int32]:
    """Make the array in which `observed.replay` lists possible contacts."""
    return np.zeros(observed.BLOCK, dtype=np.int32)


def prepared(rule: AnyRule) -> AnyRule:
    """Return the rule in the form of compiled code. Raises TypeError if a parameter is not a number."""
    policy: type[Formula] = type(rule.own)
    if policy not in _compilable:
        make_method_compilable(parameters_of(policy), "decide", policy.decide)
        _compilable.add(policy)
    return in_numbers(rule)


def replay(*arguments: Any) -> int:
    """Call the compiled `walk.replay` for a `prepared` rule, without its last argument, with the GIL released.

    Raises NumbaError if the function of the policy cannot be compiled.
    """
    decided: int = _replay(*arguments, by_bin())
    return decided


def replay_observed(*arguments: Any) -> int:
    """Call the compiled `observed.replay` for a `prepared` rule, without the last two arguments and without the GIL."""
    decided: int = _replay_observed(*arguments, by_bin(), late())
    return decided


def obstacle(rule: AnyRule) -> str | None:
    """Compile `replay` for a rule; return the reason why that is impossible, None if it is compiled."""
    return _tried(rule, _replay, _nothing)


def obstacle_observed(rule: AnyRule) -> str | None:
    """Compile `replay_observed` for a rule; return the reason why that is impossible, None if it is compiled."""
    return _tried(rule, _replay_observed, _nothing_observed)


def obstacle_in_order(rule: AnyRule) -> str | None:
    """As `obstacle_observed`, for complete histories."""
    return _tried(rule, _replay_observed, _nothing_in_order)


def _nothing(rule: AnyRule) -> tuple[Any, ...]:
    """Return arguments of `replay` without requests."""
    known = PackedHistories.of(NO_UPDATES, NO_REQUESTS, 0.0)
    firsts, ids = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int32)
    return np.empty(0), firsts, ids, 0, 0, known, rule, _NO_COUNTS, _NO_DECISIONS, by_bin()


def _nothing_observed(rule: AnyRule) -> tuple[Any, ...]:
    truth = Truth.of(NO_UPDATES, (), Grouping.ALL)
    return _without_requests(rule, truth, KnownByContacts(truth, LearntColumns.nothing(truth)))


def _nothing_in_order(rule: AnyRule) -> tuple[Any, ...]:
    known = KnownCompletely.of(PackedHistories.of(NO_UPDATES, NO_REQUESTS, 0.0))
    return _without_requests(rule, Truth.of(NO_UPDATES, (), Grouping.ALL), known)


def _without_requests(rule: AnyRule, truth: Truth, known: Known) -> tuple[Any, ...]:
    """Return arguments of `replay_observed` without requests."""
    ids, copies = np.empty(0, dtype=np.int32), CopyColumns.none(0, rule, memories.no_demand(0))
    given = np.empty(0), ids, ids, copies, Uncontrolled(), truth, known, SiblingColumns.none(), rule
    return *given, _NO_COUNTS, _NO_DECISIONS, by_bin(), late()


def _tried(rule: AnyRule, replay: Any, arguments: Callable[[AnyRule], tuple[Any, ...]]) -> str | None:
    key = type(rule), type(rule.own), arguments
    if key not in _obstacles:
        try:
            replay(*arguments(prepared(rule)))
        except (NumbaError, UnsupportedBytecodeError, TypeError) as error:
            _obstacles[key] = f"numba cannot compile {rule.own.name}: {_in_a_line(str(error))}"
        else:
            _obstacles[key] = None
    return _obstacles[key]


NO_UPDATES = Updates.of(np.empty(0), np.empty(0, dtype=np.int32), ())
NO_REQUESTS = Requests.of(np.empty(0), np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int32), (), ())

_obstacles: dict[tuple[type[Any], type[Formula], Callable[..., Any]], str | None] = {}
_compilable: set[type[Formula]] = set()
_NO_COUNTS = np.zeros((1, 5), dtype=np.int64)
_NO_DECISIONS = np.empty((0, 2))
_PIPELINE = "Failed in nopython mode pipeline"
LONGEST = 200
"""The most characters of a cause in a message."""


def _in_a_line(message: str) -> str:
    """Return the cause and its source line from a message of numba, which lists the calls before them."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    started = [i for i, line in enumerate(lines) if _PIPELINE in line]
    cause = lines[started[-1] + 1 :] if started else lines
    place = next((f" ({line.rstrip(':')})" for line in cause if line.startswith("File ")), "")
    return f"{cause[0][:LONGEST]}{place}" if cause else "no reason given"
