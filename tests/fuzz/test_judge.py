"""The judge finds what is planted."""

import pytest
from answers import Answer
from answers_read import Got
from client_h1 import reading_of
from judge import Judge
from names import name
from recording import Record, Recorder
from requests_read import Request, read_request

U, R = name("u", 7, 0), name("r", 7, 0)
SENT = f"POST http://a:1/{U} HTTP/1.1\r\nHost: a:1\r\nX-Id: {R}\r\nContent-Length: 3\r\n\r\nabc".encode()


def judged(at_origin: bytes, port: int = 1) -> set[str]:
    judge = Judge()
    judge.expect(7, SENT, reading_of(SENT))
    record = Record(port, bytearray(at_origin))
    read = read_request(at_origin)
    assert isinstance(read, Request)
    judge.at_the_origin(record, read, Answer([]))
    return set(judge.kinds)


def forwarded(
    *, path: str = "/" + U, host: str = "a:1", asker: str = R, length: str = "Content-Length: 3", content: str = "abc"
) -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: {host}\r\nX-Id: {asker}\r\n{length}\r\n\r\n{content}".encode("latin-1")


def test_what_was_meant_is_found_right() -> None:
    assert judged(forwarded()) == set()
    assert judged(forwarded(length="Transfer-Encoding: chunked", content="3\r\nabc\r\n0\r\n\r\n")) == set()


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"path": "/" + name("u", 8, 0)}, "unmeant-request:"),
        ({"host": "b"}, "host-changed"),
        ({"asker": name("r", 8, 0)}, "field-changed"),
        ({"content": "abd"}, "content-changed"),
        ({"length": "Content-Length: 3\r\nProxy-Connection: x"}, "hop-by-hop-forwarded"),
        ({"length": "Content-Length: 3\r\nX-New: x"}, "invented-field"),
    ],
)
def test_what_was_not_meant_is_found(changed: dict[str, str], kind: str) -> None:
    assert kind in judged(forwarded(**changed))


@pytest.mark.parametrize("host", ["A:1", "a.:1", "a:001"])
def test_another_spelling_of_the_same_server_is_none(host: str) -> None:
    assert judged(forwarded(host=host)) == set()


def test_a_target_that_is_not_ascii_is_found_at_the_origin() -> None:
    assert "malformed-at-origin:target" in judged(forwarded(path=f"/{U}\xe9"))


def test_a_tunnel_that_a_parent_is_asked_for_is_no_request() -> None:
    judge = Judge(parent=True)
    read = read_request(b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n")
    assert isinstance(read, Request)
    judge.at_the_origin(Record(1), read, Answer([]))
    assert not judge.kinds


def test_findings_are_reported_at_once() -> None:
    judge, told = Judge(), list[str]()
    judge.found = lambda finding: told.append(finding.kind)
    judge.find("crossed", 1, "")
    assert told == ["crossed"]


def test_a_request_at_another_origin_is_found() -> None:
    assert judged(forwarded(), port=2) == {"wrong-origin"}


def test_bytes_left_on_a_connection_are_found() -> None:
    judge = Judge()
    recorder = Recorder(1, 0.0, judge.at_the_origin)
    recorder.records.add(Record(1, bytearray(b"GET / HT")))
    judge.settle(recorder)
    assert set(judge.kinds) == {"leftover-at-origin"}


@pytest.mark.parametrize(
    ("received", "told", "kinds"),
    [
        (R.encode(), U, set()),
        (name("r", 9, 0).encode(), U, {"crossed"}),
        (b"", name("u", 9, 0), {"answer-of-another"}),
        (b"", U + " X: y", set()),
    ],
)
def test_an_answer_of_another_is_found(received: bytes, told: str, kinds: set[str]) -> None:
    judge = Judge()
    recorder = Recorder(1, 0.0, judge.at_the_origin)
    asked = reading_of(SENT).requests
    judge.at_the_client(7, asked, [Got(200, [(b"x-answer", told.encode())], b"")], received, recorder)
    assert set(judge.kinds) == kinds


@pytest.mark.parametrize(("rounds", "kinds"), [(0, set()), (1, set()), (2, {"unmeant-request:"})])
def test_a_request_that_comes_late_is_known_for_a_round(rounds: int, kinds: set[str]) -> None:
    judge = Judge()
    judge.expect(7, SENT, reading_of(SENT))
    for _ in range(rounds):
        judge.forget()
    read = read_request(forwarded())
    assert isinstance(read, Request)
    judge.at_the_origin(Record(1, bytearray(forwarded())), read, Answer([]))
    assert set(judge.kinds) == kinds
