"""What reads text or bytes that others have written: with examples, and the errors by which it refuses."""

import gzip
import io
import tempfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import brotli
from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow

from bestbefore.addon.clock import VARIABLE, clock_from_environment
from bestbefore.addon.config import values
from bestbefore.addon.config.credentials import read_credentials
from bestbefore.addon.config.load import load_config
from bestbefore.addon.config.problems import ConfigError
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine import heads, piggyback
from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.listing import Listing
from bestbefore.addon.engine.observation import Fingerprint, VariantState
from bestbefore.addon.engine.request import Ask, Serve, on_request
from bestbefore.addon.engine.response import Relay, Times, completed, observed, on_response
from bestbefore.addon.engine.site import Site
from bestbefore.addon.engine.update import Update
from bestbefore.addon.errors import InputError
from bestbefore.addon.feeds.coding import decoded, start_of
from bestbefore.addon.feeds.delta import reduced
from bestbefore.addon.feeds.document import digest
from bestbefore.addon.feeds.extract import extract
from bestbefore.addon.rfc9111.caching import vary
from bestbefore.addon.rfc9111.caching.age import age_value_s
from bestbefore.addon.rfc9111.caching.storing import copy_of
from bestbefore.addon.rfc9111.conditional import ranges
from bestbefore.addon.rfc9111.copy import BodyRef
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.fields.connection import end_to_end, has_passed
from bestbefore.addon.rfc9111.fields.dates import format_http_date, parse_http_date
from bestbefore.addon.rfc9111.fields.directives import of_request, of_response
from bestbefore.addon.rfc9111.fields.entity_tags import etag_field, parse_entity_tags
from bestbefore.addon.rfc9111.fields.syntax import delta_seconds, list_members, unquoted
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.rules import DomainRule, Pattern
from bestbefore.addon.store.backend.codec import UnreadableError, decode_copy, decode_record, encode_copy, encode_record
from bestbefore.addon.store.backend.connections.addresses import parse_address
from bestbefore.policies.validation.machinery.spec import make_policy, parse_duration, parse_spec
from bestbefore.replay.traces.errors import TraceError
from bestbefore.replay.traces.formats import npz
from bestbefore.replay.traces.formats.csv import read_table
from bestbefore.replay.traces.opening import OpenTrace
from bestbefore.replay.traces.reading import read_trace

NOW_S = 1_706_300_000.0
_SCRATCH = Path(tempfile.mkdtemp(prefix="fuzz-"))


@dataclass(frozen=True, slots=True)
class FuzzTarget:
    """One reader."""

    read: Callable[[bytes], object]
    examples: Sequence[bytes]
    refuses_by: tuple[type[Exception], ...] = ()
    """The errors that its callers expect. Any other is a fault."""


def _text(read: Callable[[str], object]) -> Callable[[bytes], object]:
    """A reader of text, from bytes as a message brings them."""
    return lambda data: read(data.decode("latin-1"))


def _fields(text: str) -> Fields:
    return Fields((name, value) for line in text.split("\n") for name, _, value in [line.partition(": ")])


def _field(name: str, read: Callable[[Fields], object]) -> Callable[[bytes], object]:
    """A reader of one field; each line of the input is a line of it."""
    return _text(lambda text: read(Fields((name, line) for line in text.split("\n"))))


# Fields of HTTP.


def _date(text: str) -> None:
    unix_s = parse_http_date(text, NOW_S)
    if unix_s is not None and unix_s >= 0:
        assert parse_http_date(format_http_date(unix_s), NOW_S) == unix_s


def _cache_control(fields: Fields) -> None:
    of_response(fields)
    of_request(fields)
    of_request(fields, honour=False)


def _vary(fields: Fields) -> None:
    """Each line as Vary, and as the fields that it may name."""
    for line in fields.values("vary"):
        asked = Fields((name, line) for name in ("Accept-Encoding", "Accept-Language", "Cookie", "X"))
        vary.selecting(Fields([("Vary", line), ("Content-Encoding", "gzip")]), asked)
        for name in ("accept-encoding", "accept-language", "cookie", "x"):
            vary.normalised(name, asked)


def _ranges(text: str) -> None:
    for size in (1, 10_000, 2**40):
        spans = ranges.satisfiable(text, size)
        assert all(0 <= span.start < span.end <= size for span in spans or ())


def _target(text: str) -> None:
    target = Target.parse(text)
    assert Target.parse(target.url) == target
    registrable_domain(target.host)


# Whole exchanges.

_SITE = Site(name="bestbefore-1", salt=b"salt", max_cached_body=1000)
_POLICY = make_policy("ttl", {"max_ttl": "1d"})
_RULES = [
    DomainRule(Pattern.parse("*"), _POLICY, obey=obey, stale_if_down_s=60.0, trust_piggyback=True)  # type: ignore[arg-type]
    for obey in ("strict", "shorten", "override")
]


def _exchange(text: str) -> None:
    """A request, its answer and the same request later: all that the engine reads of them."""
    rule = _RULES[len(text) % len(_RULES)]
    sent, _, received = text.partition("\n\n")
    first, _, rest = sent.partition("\n")
    method, _, url = first.partition(" ")
    try:
        target = Target.parse(url)
    except ValueError:
        return
    request = Request(method, target, _fields(rest))
    ask = on_request(request, (), rule, _SITE, NOW_S)
    if not isinstance(ask, Ask):
        return
    status, _, rest = received.partition("\n")
    head = Head(int(status) if status in {"200", "204", "206", "304", "404", "503"} else 299, _fields(rest))
    relay = on_response(ask, head, Times(NOW_S, NOW_S + 0.1), rule, _SITE)
    if not isinstance(relay, Relay):
        return
    heads.forwarded(relay.head, NOW_S, cache_status.forwarded(ask.fwd), _SITE)
    copy = completed(relay, BodyRef("digest", 4), complete=True)
    if copy is None:
        return
    observed(request, copy, "digest", rule, relay.reported)
    assert decode_copy(encode_copy(copy)).copy == copy
    copy = copy.with_verdict(NOW_S + 60, "ttl", rule.key)
    for later_s in (1.0, 100.0, 1e6):
        again = on_request(request, (copy,), rule, _SITE, NOW_S + later_s)
        if isinstance(again, Serve):
            answer = heads.from_copy(request, copy, NOW_S + later_s, cache_status.hit(), _SITE)
            ranges.part(request, answer)
        elif isinstance(again, Ask):
            for other in (304, 200, 500):
                on_response(again, replace(head, status=other), Times(NOW_S, NOW_S + later_s), rule, _SITE)


_COPY = copy_of(
    Request("GET", Target.parse("http://e.org/a")), Head(200, Fields([("ETag", '"1"'), ("Vary", "X")])),
    BodyRef("digest", 4), request_time_s=NOW_S, response_time_s=NOW_S, salt=b"salt",
)  # fmt: skip
_RECORD = Record(
    "http://e.org/a", NOW_S - 1e6, NOW_S, contacts=3, updates=(Update(NOW_S - 9, NOW_S - 9), Update(NOW_S - 5, NOW_S)),
    folded=((474000, 2),), seen={"": VariantState(NOW_S, Fingerprint(etag='"1"', body="digest"))},
)

# Files.


def _file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """A reader of a file."""
    path = _SCRATCH / name

    def from_bytes(data: bytes) -> object:
        path.write_bytes(data)
        return read(path)

    return from_bytes


def _trace(format_: str) -> Callable[[bytes], object]:
    return lambda data: read_trace(Path("trace"), format_, lambda _: io.BytesIO(data))  # type: ignore[arg-type, return-value]


_CSV = b'object,time\na/b,1706227238\n"c,d",5.5\n'
_COMBINED = (
    b'192.0.2.1 - - [27/Jan/2024:10:00:00 +0100] "GET /a HTTP/1.1" 200 512 "-" "curl/8"\n'
    b'192.0.2.2 - bob [27/Jan/2024:10:00:01 +0100] "GET /\\"b HTTP/1.1" 304 - "http://e.org/" "x"\n'
)
_SQUID = b"1706227238.123     45 192.0.2.1 TCP_MISS/200 512 GET http://e.org/a - DIRECT/e.org text/html\n"
_HAR = (
    b'{"log": {"version": "1.2", "entries": [{"startedDateTime": "2024-01-27T10:00:00.5+01:00", "time": 12,'
    b' "request": {"method": "GET", "url": "http://e.org/a", "headers": [{"name": "Cookie", "value": "a"}]},'
    b' "response": {"status": 200, "headers": [{"name": "ETag", "value": "\\"1\\""}], "bodySize": 5,'
    b' "content": {"size": 5}}}]}}'
)
_MBOX = (
    b"From a@e.org Sat Jan 27 10:00:00 2024\nFrom: A <a@e.org>\nList-Id: <l.e.org>\n"
    b"Date: Sat, 27 Jan 2024 10:00:00 +0100\nMessage-ID: <1@e.org>\n\nText\n>From here\n\n"
)


def _npz() -> bytes:
    file = io.BytesIO()
    table = read_table(OpenTrace(Path("csv"), io.BufferedReader(io.BytesIO(_CSV))), ["object", "time"])  # type: ignore[arg-type]
    npz.write_table(file, table)
    return file.getvalue()


def _flow() -> bytes:
    file = io.BytesIO()
    FlowWriter(file).add(tflow.tflow(resp=True))
    return file.getvalue()


_EXCHANGES = (
    b"GET http://e.org/a\nHost: e.org\nCookie: a=1\nAccept-Encoding: gzip, br;q=0.5\n\n200\n"
    b'Cache-Control: max-age=60, stale-while-revalidate=9\nETag: "1"\nVary: Accept-Encoding\nContent-Length: 4\n'
    b"Date: Fri, 26 Jan 2024 20:13:20 GMT\nLast-Modified: Fri, 26 Jan 2024 10:00:00 GMT",
    b"GET https://e.org:444/b?c\nRange: bytes=0-1, -1\nIf-Range: \"1\"\nCache-Control: max-stale=5\n\n200\n"
    b'Expires: Sat, 27 Jan 2024 20:13:20 GMT\nAge: 5\nETag: W/"1"\nSet-Cookie: a=b\nConnection: x, close',
    b"GET http://e.org/c\nIf-None-Match: \"1\", W/\"2\"\nIf-Modified-Since: Fri, 26 Jan 2024 10:00:00 GMT\n\n304\n"
    b'ETag: "1"\nUpdate-History: 1706227238, 1706230000;since=1706140800\nContent-Type: text/html',
    b"HEAD http://e.org/c\nVia: 1.1 other\nAuthorization: Basic eA==\n\n404\nCache-Control: public, must-understand",
)

def _feed(body: bytes) -> object:
    """Read, and cut to every other item. What is left must be a feed of the others."""
    document = extract(body)
    rest = reduced(body, lambda item: digest(item.name) % 2 == 0)
    if document is None or rest is None:
        return None
    left = extract(rest)
    wanted = [item.name for item in document.items if digest(item.name) % 2]
    found = [] if left is None else [item.name for item in left.items]  # without items it may be no feed to us
    if found != wanted:
        raise AssertionError(f"{wanted} expected after cutting, {found} found")
    return Listing.of(document, "")


def _decoded(body: bytes) -> object:
    coding = {b"g": "gzip", b"d": "deflate", b"b": "br"}.get(body[:1], "")
    return start_of(body[1:], coding, 100), decoded(body[1:], coding, 1 << 16)


TARGETS = {
    "date": FuzzTarget(_text(_date), [
        b"Sun, 06 Nov 1994 08:49:37 GMT", b"Sunday, 06-Nov-94 08:49:37 GMT", b"Sun Nov  6 08:49:37 1994",
    ]),
    "cache-control": FuzzTarget(_field("Cache-Control", _cache_control), [
        b'max-age=60, s-maxage="5", private="a, b", no-cache', b"no-store\nstale-if-error=9, max-stale, immutable",
    ]),
    "entity-tag": FuzzTarget(_field("ETag", etag_field), [b'"abc"', b'W/"abc"', b'"a\n"b"']),
    "entity-tags": FuzzTarget(_text(parse_entity_tags), [b'"a", W/"b,c" ,, "\xfc"', b"*"]),
    "list": FuzzTarget(_text(list_members), [b'a, "b, c" ,, d', b'x="\\"", y']),
    "quoted-string": FuzzTarget(_text(unquoted), [b'"a \\" b"', b'""']),
    "delta-seconds": FuzzTarget(_text(delta_seconds), [b"3600", b"00099999999999"]),
    "age": FuzzTarget(_field("Age", age_value_s), [b"0", b"10, 20", b"5\n6"]),
    "vary": FuzzTarget(_field("Vary", _vary), [b"Accept-Encoding, Cookie", b"*", b"de;q=0.5, en, fr;q=1.000"]),
    "connection": FuzzTarget(_field("Connection", end_to_end), [b"close, X-A", b"keep-alive\nETag"]),
    "via": FuzzTarget(_field("Via", partial(has_passed, pseudonym="me")), [b"1.1 a (x, y), 1.0 me", b"2 [::1]:80"]),
    "range": FuzzTarget(_text(_ranges), [b"bytes=0-499, -500, 9500-", b"bytes=0-0,2-2,4-4", b"pages=1-2"]),
    "cache-status": FuzzTarget(_text(lambda text: cache_status.hit(ttl_s=1.0, detail=text)), [b"max-age", b'a "b"']),
    "update-history": FuzzTarget(_field(piggyback.UPDATES, partial(piggyback.read, now_s=NOW_S)), [
        b"1706227238, 1706230000;since=1706140800", b"1;since=0", b"9;after=3, 12;unseen=10;since=1", b"none;since=5",
    ]),
    "want-update-history": FuzzTarget(_field(piggyback.WANT, piggyback.is_requested), [b"?1", b"?0;a=b"]),
    "feed": FuzzTarget(_feed, [
        b'<?xml version="1.0"?><rss version="2.0"><channel><ttl>5</ttl><skipHours><hour>3</hour></skipHours>'
        b"<item><guid>1</guid><pubDate>Fri, 20 Nov 2026 08:00:00 GMT</pubDate></item><item/></channel></rss>",
        b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id><updated>2026-11-20T08:00:00Z</updated></entry></feed>",
        b'{"version": "https://jsonfeed.org/version/1", "items": [{"id": 1, "date_published": "2026-11-20"}]}',
    ]),
    "feed-coding": FuzzTarget(_decoded, [
        b"g" + gzip.compress(b"<rss/>", mtime=0), b"d" + zlib.compress(b"<rss/>"), b"b" + brotli.compress(b"<rss/>"),
    ]),
    "url": FuzzTarget(_text(_target), [
        b"http://example.org/a?b#c", b"HTTPS://user:pw@[2001:db8::1]:8443/%7Ea", b"http://b\xfccher.example/",
    ], (ValueError,)),
    "exchange": FuzzTarget(_text(_exchange), _EXCHANGES),
    "stored copy": FuzzTarget(decode_copy, [encode_copy(_COPY)], (UnreadableError,)),
    "stored record": FuzzTarget(decode_record, [encode_record(_RECORD)], (UnreadableError,)),
    "store-url": FuzzTarget(_text(parse_address), [
        b"redis://user:pw@127.0.0.1:6379/0?protocol=3", b"unix:///tmp/redis.sock?db=1", b"rediss://e.org",
    ], (ValueError,)),
    "clock": FuzzTarget(_text(lambda text: clock_from_environment({VARIABLE: text})), [
        b"now,60", b"2024-01-27T10:00:00+01:00,1.5", b"1706227200,1",
    ], (InputError,)),
    "policy": FuzzTarget(_text(parse_spec), [
        b"indttl:theta=0.1,alpha=0.1,window=1d,threshold=2", b"ttl:fallback=ttl+group,max_ttl=6h",
    ], (ValueError,)),
    "duration": FuzzTarget(_text(parse_duration), [b"1.5h", b"90", b"inf"], (ValueError,)),
    "pattern": FuzzTarget(_text(lambda text: Pattern.parse(text).matches_path(text)), [
        b"*.example.org/feeds/*", b"[2001:db8::1]/a?b=*", b"b\xfccher.example",
    ], (ValueError,)),
    **{
        f"config {name}": FuzzTarget(_text(read), examples, (ValueError,))
        for name, read, examples in (
            ("address", values.address, [b"127.0.0.1:8080", b"[::1]:0"]),
            ("server", values.server, [b"http://parent:3128", b"https://[::1]:1/"]),
            ("mode", values.mode, [b"reverse:http://127.0.0.1:8000", b"forward"]),
            ("store", values.store, [b"redis://h:1/0", b"unix:///a", b"embedded"]),
            ("size", values.size_bytes(), [b"64KiB", b"1024TiB", b"0"]),
            ("duration", values.duration_s, [b"6h", b"1.5d"]),
            ("network", values.network, [b"192.0.2.0/24", b"2001:db8::/32"]),
            ("field name", values.field_name, [b"CDN-Cache-Control"]),
            ("path", values.path_from(Path("/a")), [b"~/b", b"../c"]),
        )
    },
    "config file": FuzzTarget(_file("proxy.toml", partial(load_config, environ={})), [
        b'[proxy]\nlisten = "127.0.0.1:3128"\nallow_clients = ["192.0.2.0/24"]\nkeep = 7\n',
        b'[default]\npolicy = "ttl"\nalpha = 0.2\n[[domain]]\nmatch = "*.e.org/a*"\nobey = "override"\n'
        b'override = ["no-cache"]\nfallback = ["ttl"]\nmax_ttl = "6h"\n',
    ], (ConfigError,)),
    "credentials": FuzzTarget(_file("users", read_credentials), [b"# us\nuser:password\n\n"], (ValueError,)),
    **{
        f"trace {format_}": FuzzTarget(_trace(format_), examples, (TraceError,))
        for format_, examples in (
            ("csv", [_CSV, b"time,client,object,size\n1,x,y,7\n"]),
            ("npz", [_npz()]),
            ("combined", [_COMBINED]),
            ("common", [b'192.0.2.1 - - [27/Jan/2024:10:00:00 +0100] "GET /a HTTP/1.1" 200 512\n']),
            ("squid", [_SQUID]),
            ("wc98", [bytes(range(20)) * 3]),
            ("har", [_HAR]),
            ("mitmproxy", [_flow()]),
            ("mbox", [_MBOX]),
        )
    },
}
"""By name."""
