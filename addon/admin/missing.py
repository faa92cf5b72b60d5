"""What would make a response without validator a hit: a key, more contacts, or nothing."""

from dataclasses import dataclass

from bestbefore.addon.admin.units import span, utc
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.unvalidated.evidence import CLIENTS_NEEDED, UNSHARED_S
from bestbefore.addon.engine.unvalidated.without_validator import Learnt, has_dated_items, repeats_missing
from bestbefore.addon.rules import DomainRule


@dataclass(frozen=True, slots=True)
class UnvalidatedReport:
    """What is known of an object whose last response had neither validator nor lifetime."""

    learns: str
    """The rule's `learn_without_validator`: `learn`, `always` or `never`."""
    bar: str
    """The reason why its last response could not be stored whatever is learnt; empty if there was none."""
    is_feed: bool
    """Whether it is a feed whose items tell its history."""
    is_static: bool
    """Whether its media type is that of a static file."""
    same_since_s: float
    """The first contact that returned the present content."""
    repeats_missing: int
    """How many more contacts must return the same content."""
    clients_missing: int
    """To how many more clients without Cookie and Authorization it must be sent before it is shared."""
    changes: bool
    """Whether it was found changed more often than unchanged."""
    unshared_until_s: float | None
    """Until when no copy is shared, as clients got different content; None if they did not."""


def unvalidated_report(record: Record, rule: DomainRule) -> UnvalidatedReport | None:
    """Return the report; None if the last response had a validator or lifetime."""
    last = max(record.seen.values(), key=lambda state: state.t_s, default=None)
    if last is None or last.evidence is None:
        return None
    evidence = last.evidence
    return UnvalidatedReport(
        learns=rule.learn_without_validator,
        bar=evidence.bar,
        is_feed=has_dated_items(record),
        is_static=evidence.is_static,
        same_since_s=evidence.since_s,
        repeats_missing=repeats_missing(evidence),
        clients_missing=CLIENTS_NEEDED - len(evidence.clients),
        changes=record.n_updates > max(record.unchanged, 1),
        unshared_until_s=None if record.differed_s is None else record.differed_s + UNSHARED_S,
    )


def missing(known: UnvalidatedReport, now_s: float) -> str:
    """Return a sentence on what is missing."""
    if known.bar == Learnt.FORBIDDEN:
        return (
            "nothing makes it a hit, as the origin demands validation (max-age=0 or no-cache); "
            'at your own risk, learn_without_validator = true with obey = "override"'
        )
    if known.learns == "always":
        return "stored at each contact, as learn_without_validator = true"
    if known.learns == "never":
        return 'not stored, as learn_without_validator = false; with "learn" it is once enough was learnt'
    if known.bar == Learnt.COOKIE:
        return f"no hit for requests with Cookie or Authorization, as the last; for others {_contacts(known, now_s)}"
    if known.is_feed:
        return "stored at each contact, as the items of the feed are its history"
    return f"{_contacts(known, now_s)} (learn_without_validator = true does not wait)"


def _contacts(known: UnvalidatedReport, now_s: float) -> str:
    more = _more(known.repeats_missing, "contact") + " with the same content"
    until_s = known.unshared_until_s
    own = until_s is not None and now_s < until_s
    alone = f"for its client alone until {utc(until_s or 0.0)}, as clients got different content"
    if known.is_static:
        whom = alone if own else "for all"
        return f"stored {whom}, after {more}" if known.repeats_missing else f"stored {whom}"
    if known.changes:
        return "not stored, as it changes too often"
    if known.repeats_missing:
        return f"stored for its client after {more}"
    same = f"the same for {span(now_s - known.same_since_s)}; stored if that is as long as its lifetime"
    if own:
        return f"{same}, {alone}"
    if known.clients_missing:
        return f"{same}, for its client, and for all after {_more(known.clients_missing, 'client')} got the same"
    return f"{same}, for all"


def _more(n: int, what: str) -> str:
    return f"one more {what}" if n == 1 else f"{n} more {what}s"
