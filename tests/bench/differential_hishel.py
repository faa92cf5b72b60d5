"""Compares what our core and hishel's decide about random exchanges, and counts the differences by what causes them.

    python -m venv /tmp/hishel && /tmp/hishel/bin/pip install "hishel>=1.4,<2" http-sf publicsuffixlist numpy
    PYTHONPATH=build/src /tmp/hishel/bin/python tests/bench/differential_hishel.py [EXCHANGES] [SEED]

hishel is no dependency: it does not resolve beside mitmproxy. Three questions are put to both, as shared caches:
whether the response is stored; if both store it, what a later request gets (the copy, a validation, a new request);
if both validate, what a 304 does. Where a lifetime is left open both guess it as a tenth of the time since
Last-Modified, at most a week.

The cause of a difference is our reason where we refuse to store, else the first of the exchange's parts, or the first
two, without which there is none. The exit status is 1 if one of them is not explained.
"""

import re
import sys
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import hishel._core._spec as spec
from hishel import CacheOptions, Entry, Headers
from hishel import Request as TheirRequest
from hishel import Response as TheirResponse
from hishel._core.models import EntryMeta
from hishel_explained import EXPLANATIONS
from random_exchanges import NOW_S, Draws, Exchange, Lines

from bestbefore.addon.engine.request import Ask, Serve, on_request
from bestbefore.addon.engine.response import Confirmed, Keep, Times, on_response
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.caching.storing import copy_of, why_not_store
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.rules import DomainRule, Pattern
from bestbefore.policies.validation.machinery.spec import make_policy

URL = "http://example.org/"
WEEK_S = 604_800.0
SITE = Site(name="bestbefore-1", salt=b"salt", max_cached_body=1000)
RULE = DomainRule(Pattern.parse("*"), make_policy("ttl", {"max_ttl": "1d"}))
OPTIONS = CacheOptions(shared=True)

type Answers = tuple[str, str]
"""Ours and hishel's."""


def compared(exchange: Exchange) -> Iterator[tuple[str, Answers]]:
    """The questions that both get, and their answers."""
    request, again = _request(exchange.method, exchange.request), _request("GET", exchange.again)
    head, later_s = Head(exchange.status, Fields(exchange.response)), NOW_S + exchange.later_s
    refused = why_not_store(request, head, NOW_S, without_validator=True)
    _set_clock(NOW_S)
    asked = TheirRequest(exchange.method, URL, _headers(exchange.request))
    kept = spec.CacheMiss(request=asked, options=OPTIONS).next(
        TheirResponse(exchange.status, _headers(exchange.response))
    )
    stored = isinstance(kept, spec.StoreAndUse)
    yield "stored", (f"no, {refused}" if refused and stored else "no" if refused else "yes", "yes" if stored else "no")
    if refused or not stored:
        return
    _set_clock(later_s)
    entry = Entry(uuid.uuid4(), asked, EntryMeta(created_at=NOW_S), kept.response, b"key")
    theirs = spec.IdleClient(options=OPTIONS).next(TheirRequest("GET", URL, _headers(exchange.again)), [entry])
    ours = on_request(again, [_copy(request, head)], RULE, SITE, later_s)
    answers = _use(ours), {spec.FromCache: "copy", spec.NeedRevalidation: "validation"}.get(type(theirs), "new")
    yield "second request", answers
    if answers != ("validation", "validation"):
        return
    assert isinstance(ours, Ask)
    yield from _after_not_modified(exchange, ours, theirs, later_s)


def _request(method: str, lines: Lines) -> Request:
    return Request(method, Target.parse(URL), Fields(lines))


def _headers(lines: Lines) -> Headers:
    several: defaultdict[str, list[str]] = defaultdict(list)
    for name, value in lines:
        several[name].append(value)
    return Headers(dict(several))


def _set_clock(time_s: float) -> None:
    """hishel reads the time itself."""
    spec.time = SimpleNamespace(time=lambda: time_s)


def _copy(request: Request, head: Head) -> Copy:
    copy = copy_of(request, head, BodyRef("", 0), request_time_s=NOW_S, response_time_s=NOW_S, salt=SITE.salt)
    guess_s = None
    if copy.last_modified_s is not None:
        guess_s = copy.current_s + min(WEEK_S, 0.1 * max(0.0, NOW_S - copy.last_modified_s))
    return copy.with_verdict(guess_s, "ttl", RULE.key)


def _use(decision: object) -> str:
    if isinstance(decision, Serve):
        return "copy"
    assert isinstance(decision, Ask)
    return "validation" if decision.candidates else "new"


def _after_not_modified(
    exchange: Exchange, ask: Ask, their_state: object, later_s: float
) -> Iterator[tuple[str, Answers]]:
    if not {"if-none-match", "if-modified-since"} & ask.sent.fields.names():
        return  # we have no validator of this copy: no 304 can come
    head = Head(304, Fields(exchange.not_modified))
    ours = on_response(ask, head, Times(later_s, later_s), RULE, SITE)
    theirs = their_state.next(TheirResponse(304, _headers(exchange.not_modified)))
    if isinstance(theirs, spec.InvalidateEntries):
        theirs = theirs.next_state
    mine = f"copy {ours.keep}" if isinstance(ours, Confirmed) else "asked again"
    other = f"copy {Keep.RENEWED}" if isinstance(theirs, spec.NeedToBeUpdated) else "asked again"
    yield "304", (mine, other)
    if mine == other and isinstance(ours, Confirmed):
        fields, their_fields = ours.copy.head.fields, theirs.updating_entries[-1].response.headers
        for name in sorted(fields.names() | set(their_fields)):
            yield f"{name} after a 304", (str(fields.get(name)), str(their_fields.get(name)))


def cause(exchange: Exchange, question: str, answers: Answers) -> str:
    """What of the exchange makes the answers to the question differ."""
    if answers[0].startswith("no, "):
        return answers[0].removeprefix("no, ")
    for part, without in _simpler(exchange):
        if _agree(without, question):
            return part
    for part, without in _simpler(exchange):
        for other, without_both in _simpler(without):
            if _agree(without_both, question):
                return f"{part} and {other}"
    return "unknown"


def _agree(exchange: Exchange, question: str) -> bool:
    answers = dict(compared(exchange)).get(question)
    return answers is not None and answers[0] == answers[1]


def _simpler(exchange: Exchange) -> Iterator[tuple[str, Exchange]]:
    """The exchange with one part left out or made plain, and what that is; the most telling parts first."""
    for side, where in (("again", "second request"), ("request", "request"), ("not_modified", "304")):
        for part, others in _without_one(getattr(exchange, side)):
            yield f"{where} {part}", replace(exchange, **{side: others})
    dated = (*(line for line in exchange.response if line[0] != "Date"), ("Date", format_http_date(NOW_S)))
    yield "response Date", replace(exchange, response=dated)
    for part, others in _without_one(exchange.response):
        yield f"response {part}", replace(exchange, response=others)
    yield "other requests", replace(exchange, again=exchange.request)
    yield f"status {exchange.status}", replace(exchange, status=200)


def _without_one(lines: Lines) -> Iterator[tuple[str, Lines]]:
    """Fields less one, those first that steer least; of Cache-Control, less one directive."""
    last = ["Cache-Control", "Date", "Expires", "ETag", "Last-Modified"]
    for name, value in sorted(lines, key=lambda line: last.index(line[0]) if line[0] in last else -1):
        others = tuple(line for line in lines if line != (name, value))
        if name != "Cache-Control":
            yield f"{name}: {value}" if name == "Connection" else name, others
            continue
        directives = value.split(", ")
        for directive in dict.fromkeys(directives):
            rest = ", ".join(d for d in directives if d != directive)
            yield f"{name}: {directive}", (*others, (name, rest)) if rest else others


def main() -> int:
    """Compare, and print what is behind the differences."""
    exchanges = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    draws = Draws(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    asked: Counter[str] = Counter()
    found: Counter[str] = Counter()
    examples: dict[str, Exchange] = {}
    for _ in range(exchanges):
        exchange = draws.exchange()
        for question, answers in compared(exchange):
            asked[question] += 1
            if answers[0] != answers[1]:
                why = cause(exchange, question, answers)
                kind = f"{question}: {why}: ours {answers[0]}, hishel {answers[1]}"
                found[kind] += 1
                examples.setdefault(kind, exchange)
    differing = Counter(kind.partition(": ")[0] for kind in found.elements())
    for question, times in asked.items():
        print(f"{question}: {times} asked, {differing[question]} differ")
    explained: Counter[str] = Counter()
    for kind, n in found.items():
        text = next((text for pattern, text in EXPLANATIONS if re.match(pattern, kind)), None)
        if text is None:
            print(f"not explained, {n}: {kind}\n    {examples[kind]}")
        else:
            explained[f"{kind.partition(': ')[0]} | {text}"] += n
            if "-v" in sys.argv:
                print(f"{n:5d}  {kind}\n       {text}\n       {examples[kind]}")
    print("\n| differences | asked | why |\n| --- | --- | --- |")
    for question in asked:
        for text, n in explained.most_common():
            if text.startswith(f"{question} | "):
                print(f"| {n} | {text} |")
    return 0 if explained.total() == found.total() else 1


if __name__ == "__main__":
    sys.exit(main())
