"""Plain functions and methods become parts of compiled code."""

from inspect import signature
from typing import NamedTuple

import numba
import pytest
from numba.core.errors import TypingError

from bestbefore.policies.validation.machinery import estimates
from bestbefore.policies.validation.machinery.fallback import fallback_decision
from bestbefore.policies.validation.rules import agghist, indhist, ttl
from bestbefore.replay.kernels.compilable import FEATURES, make_compilable, make_methods_compilable


class Pair(NamedTuple):
    a: float
    b: float

    def total(self) -> float:
        return self.a + self.b

    def over(self, divisor: float) -> float:
        return self.total() / divisor


class Triple(NamedTuple):
    a: float
    b: float
    c: float

    def total(self) -> float:
        return self.a + self.b + self.c


class Mute(NamedTuple):
    a: float


def half(pair: Pair) -> float:
    return pair.over(2.0)


def total(several: Pair | Triple) -> float:
    return several.total()


def others(several: Mute) -> float:
    return make_others(several)


def make_others(several: Mute) -> float:
    return several.a


make_methods_compilable(Pair)
make_methods_compilable(Triple)


def test_a_method_is_that_of_the_class_of_the_tuple() -> None:
    compiled = numba.njit(total)
    assert compiled(Pair(1.0, 2.0)) == 3.0
    assert compiled(Triple(1.0, 2.0, 3.0)) == 6.0


def test_methods_may_call_each_other() -> None:
    assert numba.njit(half)(Pair(1.0, 2.0)) == 1.5


def test_functions_of_other_packages_are_left_to_numba() -> None:
    make_compilable(others)
    with pytest.raises(TypingError, match="make_others"):
        numba.njit(others)(Mute(1.0))


def test_functions_of_features_have_the_parameter_by_which_they_are_inlined() -> None:
    functions = (
        estimates.set_own_rates, estimates.set_group_pattern, fallback_decision, agghist.agghist_expiry_s,
        indhist.indhist_expiry_s, ttl.ttl_expiry_s,
    )
    assert {next(iter(signature(function).parameters)) for function in functions} == {FEATURES}
