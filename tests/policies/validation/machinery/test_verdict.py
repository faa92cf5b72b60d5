import re

import pytest

from bestbefore.policies.validation.machinery.verdict import (
    BOOTSTRAP,
    FALLBACK_GROUP,
    FALLBACK_TTL,
    MAX_TTL,
    MIN_TTL,
    Reason,
    expires,
    expires_by,
    expires_keeping,
)
from bestbefore.policies.validation.table import POLICIES

REASONS = [*Reason, *dict.fromkeys(word for policy in POLICIES.values() for word in policy().reasons)]


@pytest.mark.parametrize("reason", REASONS)
def test_a_reason_can_stand_in_a_header_a_label_and_a_log_as_it_is(reason: str) -> None:
    assert re.fullmatch("[a-z][a-z_]*", f"{reason}")


def test_the_words_of_policies_and_of_what_decides_in_their_place_are_others() -> None:
    assert len(set(REASONS)) == len(REASONS)
    assert {word for policy in POLICIES.values() for word in policy().reasons} <= set(POLICIES)


def test_a_decision_names_its_reason_by_number() -> None:
    numbers = (BOOTSTRAP, FALLBACK_TTL, FALLBACK_GROUP, MIN_TTL, MAX_TTL)
    words = ["bootstrap", "fallback_ttl", "fallback_group", "min_ttl", "max_ttl"]
    assert [list(Reason)[number] for number in numbers] == words
    assert expires(5.0)[:2] == (5.0, 0)
    assert expires_by(1, 5.0)[:2] == (5.0, 1)
    assert expires_keeping(3.0, 5.0) == (5.0, 0, 3.0)
