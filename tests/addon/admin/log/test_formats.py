"""The formats of the request log; two of them are read back by the readers of the replay."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.log.formats import log_format
from bestbefore.addon.admin.sanitize import logged_url
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.log_template import FIELDS
from bestbefore.replay.traces.formats.combined import looks_combined
from bestbefore.replay.traces.formats.squid import looks_like_squid
from bestbefore.replay.traces.inference.accesses import UNKNOWN, Accesses
from bestbefore.replay.traces.reading import read_trace

HIT = Answered(
    time_s=1706227238.5, duration_s=0.25, client="192.0.2.7", method="GET", url="http://www.example.org/a?q=1#f",
    status=200, outcome=Outcome.HIT, reason="indttl", ttl_s=4321.0, sent_bytes=12_345, agent='a "b" \\ c\x1b',
    protocol="HTTP/2.0", user='a [b"',
)  # fmt: skip
TUNNEL = replace(
    HIT, method="CONNECT", url="example.org:443", outcome=Outcome.BYPASS, contact=True, uploaded_bytes=9, ttl_s=None
)


def line(name: str, answered: Answered = HIT, *, keep_query: bool = False) -> str:
    return log_format(name, keep_query=keep_query)(answered)


def test_json_has_every_field() -> None:
    values = json.loads(line("json"))
    assert tuple(values) == FIELDS
    assert values["time"] == "2024-01-26T00:00:38.500Z"
    assert (values["url"], values["took_s"], values["agent"]) == ("http://www.example.org/a", 0.25, HIT.agent)
    assert line("json").isascii()


def test_combined_is_as_web_servers_write_it() -> None:
    assert line("combined") == (
        r'192.0.2.7 - a%20%5Bb\x22 [26/Jan/2024:00:00:38 +0000] "GET http://www.example.org/a HTTP/2.0" 200 12345 "-" '
        r'"a \x22b\x22 \x5c c\x1b"'
    )


def test_squids_is_as_squid_writes_it() -> None:
    assert line("squid", keep_query=True) == (
        '1706227238.750    250 192.0.2.7 TCP_HIT/200 12345 GET http://www.example.org/a?q=1 a%20%5Bb" HIER_NONE/- -'
    )
    assert " TCP_TUNNEL/200 12345 CONNECT example.org:443 - HIER_DIRECT/- -" in line("squid", replace(TUNNEL, user=""))
    assert " TCP_HIT_ABORTED/200 " in line("squid", replace(HIT, complete=False))


@pytest.mark.parametrize("name", ["squid", "combined"])
def test_what_no_client_asked_for_is_not_in_the_logs_of_other_programs(name: str) -> None:
    assert line(name, replace(HIT, background=True)) == ""
    assert line("{background}", replace(HIT, background=True)) == "yes"


def test_a_template_has_the_fields_that_it_names() -> None:
    assert line('{verdict} {ttl_s} "{agent}" {referer}') == r'hit 4321.0 "a \x22b\x22 \x5c c\x1b" -'
    assert line("{ttl_s}", TUNNEL) == "-"


anything = st.text(max_size=30)
requests = st.builds(
    Answered,
    time_s=st.floats(1.6e9, 1.8e9),
    duration_s=st.floats(0, 1e5),
    client=st.sampled_from(["192.0.2.7", "2001:db8::1", ""]),
    method=st.just("GET"),
    url=anything.map("http://example.org/{}".format),
    status=st.integers(200, 599),
    outcome=st.sampled_from(Outcome),
    sent_bytes=st.integers(0, 10**14),
    complete=st.booleans(),
    user=anything,
    protocol=st.sampled_from(["HTTP/1.0", "HTTP/1.1", "HTTP/2.0"]),
    agent=anything,
    referer=anything,
)


@given(requests, st.booleans())
def test_any_request_is_a_line_that_the_replay_reads(
    tmp_path_factory: pytest.TempPathFactory, one: Answered, keep_query: bool
) -> None:
    for name, looks, slack_s in (("squid", looks_like_squid, 0.0021), ("combined", looks_combined, 1.0)):
        written = line(name, one, keep_query=keep_query)
        assert written.isascii()
        assert written.isprintable()
        assert looks(written.encode() + b"\n")
        trace = read_back(tmp_path_factory.getbasetemp() / "log", name, written)
        ((time_s, client, url),) = trace.requests.rows()
        assert abs(time_s - one.time_s) <= slack_s
        assert client == (one.client or "-")
        shown = logged_url(one.url, keep_query=keep_query)
        assert url == (shown if name == "squid" else shown.replace("\\", "\\x5c").replace('"', "\\x22"))
        assert trace.statuses.tolist() == [one.status]
        unknown = name == "squid" and not one.complete
        assert trace.sizes_bytes.tolist() == [UNKNOWN if unknown else one.sent_bytes]


def read_back(path: Path, name: str, written: str) -> Accesses:
    path.write_text(written + "\n")
    trace = read_trace(path, name).trace
    assert isinstance(trace, Accesses)
    return trace
