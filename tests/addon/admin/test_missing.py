"""What would make a response without validator a hit."""

from dataclasses import replace

import pytest

from bestbefore.addon.admin.missing import UnvalidatedReport, missing, unvalidated_report
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.observation import Fingerprint, VariantState
from bestbefore.addon.engine.unvalidated.evidence import ContentEvidence
from bestbefore.addon.rules import DomainRule, Pattern
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.rules.ttl import Ttl

NOW_S = 1706227238.0
RULE = DomainRule(match=Pattern.parse("*"), policy=Bounded(Ttl(0.2), max_ttl_s=3600.0))
PAGE = UnvalidatedReport(
    learns="learn",
    bar="",
    is_feed=False,
    is_static=False,
    same_since_s=NOW_S - 600,
    repeats_missing=2,
    clients_missing=2,
    changes=False,
    unshared_until_s=None,
)


def test_the_report_is_of_the_variant_that_was_sent_last() -> None:
    older = VariantState(NOW_S - 60, Fingerprint(body="a"), ContentEvidence(NOW_S - 600, 5, ("a", "b", "c")))
    last = VariantState(NOW_S - 6, Fingerprint(body="b"), ContentEvidence(NOW_S - 6, clients=("a",), is_static=True))
    record = Record("http://x/", NOW_S - 600, NOW_S - 6, seen={"": older, "gzip": last}, differed_s=NOW_S - 6)
    report = unvalidated_report(record, RULE)
    assert report == replace(
        PAGE, is_static=True, same_since_s=NOW_S - 6, repeats_missing=1, unshared_until_s=NOW_S + 86_394
    )


def test_there_is_none_of_an_object_with_a_validator() -> None:
    seen = {"": VariantState(NOW_S, Fingerprint(etag='"a"', body="a"))}
    assert unvalidated_report(Record("http://x/", NOW_S, NOW_S, seen=seen), RULE) is None
    assert unvalidated_report(Record("http://x/", NOW_S, NOW_S), RULE) is None


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({}, "stored for its client after 2 more contacts with the same content"),
        ({"is_static": True, "repeats_missing": 1}, "stored for all, after one more contact with the same content"),
        ({"is_static": True, "repeats_missing": 0}, "stored for all (learn_without_validator = true does not wait)"),
        ({"repeats_missing": 0}, "the same for 10m; stored if that is as long as its lifetime, for its client"),
        ({"repeats_missing": 0}, "and for all after 2 more clients got the same"),
        ({"repeats_missing": 0, "clients_missing": 0}, "lifetime, for all"),
        ({"repeats_missing": 0, "unshared_until_s": NOW_S + 1}, "for its client alone until 2024-01-26 00:00:39Z"),
        ({"is_static": True, "unshared_until_s": NOW_S + 1}, "stored for its client alone until 2024-01-26 00:00:39Z"),
        ({"repeats_missing": 0, "unshared_until_s": NOW_S}, "for all after"),
        ({"changes": True}, "changes too often"),
        ({"is_feed": True}, "items of the feed are its history"),
        ({"learns": "never"}, "learn_without_validator = false"),
        ({"learns": "always"}, "learn_without_validator = true"),
        ({"bar": "no-validator"}, "nothing makes it a hit, as the origin demands validation"),
        ({"bar": "learning-cookie"}, "Cookie or Authorization, as the last; for others stored for its client"),
    ],
)
def test_the_sentence_names_a_key_or_more_contacts_or_nothing(known: dict[str, object], words: str) -> None:
    assert words in missing(replace(PAGE, **known), NOW_S)  # type: ignore[arg-type]
