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
    return f"POST {path} HTTP/1.1\r\nHost: {host}\r\nX-Id: {asker}\r\n{length}\r\n\r\n{content}".encode()


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
    ],
)
def test_an_answer_of_another_is_found(received: bytes, told: str, kinds: set[str]) -> None:
    judge = Judge()
    recorder = Recorder(1, 0.0, judge.at_the_origin)
    asked = reading_of(SENT).requests
    judge.at_the_client(7, asked, [Got(200, [(b"x-answer", told.encode())], b"")], received, recorder)
    assert set(judge.kinds) == kinds
