"""Candidates as they are stored."""

import math
from contextlib import suppress

import msgspec
import pytest

from bestbefore.addon.store.candidate import Candidate, CandidateTable, decode, decode_all, encode
from bestbefore.policies.models.clockwork.beats import ClockBeat, Clockwork

CANDIDATE = Candidate(0.25, 1.7e9, 7, bytes(range(24)), 0.2, ("loopback",), 1.8e9)
CLOCKWORK = Clockwork(3600.0, (ClockBeat(5.0, 65.0, 0.7), ClockBeat(3590.0, 3650.0, 0.3)), 0.9)


def test_a_candidate_comes_back_as_it_was_written() -> None:
    assert decode(encode(CANDIDATE)) == CANDIDATE
    assert len(encode(CANDIDATE)) < 100
    for one in (CANDIDATE._replace(clockwork=CLOCKWORK), CANDIDATE._replace(asked_from=(), due_s=None)):
        assert decode(encode(one)) == one
        assert decode(msgspec.msgpack.encode(one)) == one, "as they were written before"


def test_many_candidates_are_read_as_one_by_one_and_the_bad_ones_among_them_named() -> None:
    plain = CANDIDATE._replace(asked_from=())
    good = (CANDIDATE, plain._replace(requests=10**12), CANDIDATE._replace(clockwork=CLOCKWORK))
    wrong = (plain._replace(rate_per_hour=-1.0), plain._replace(expected_bytes=math.nan))
    cut = (encode(CANDIDATE)[:-1], encode(plain)[:-1], b"", b"\xff", encode(plain) + b"\x92\x90\x01")
    kinds = (*map(encode, good), msgspec.msgpack.encode(CANDIDATE), *map(encode, wrong), *cut)
    encoded = {f"http://h/{i}": kinds[i % len(kinds)] for i in range(3 * len(kinds))}
    expected = {}
    for url, one in encoded.items():
        with suppress(ValueError):
            expected[url] = decode(one)
    table, faults = decode_all(encoded)
    assert dict(table.items()) == expected
    assert len(expected) == 3 * 4
    assert len(faults) == 3 * 7
    assert all("cannot be read" in fault for fault in faults)
    assert [one for piece in table.pieces(5) for one in piece.items()] == list(expected.items())
    assert dict(CandidateTable.of(expected).items()) == expected
    assert dict(table.only([1, 3]).items()) == dict(list(expected.items())[1:4:2])


@pytest.mark.parametrize(
    "encoded",
    [
        b"",
        b"\xc1",
        b"\x81\xa1a\x01",
        *(
            msgspec.msgpack.encode(CANDIDATE._replace(**change))
            for change in (
                {"rate_per_hour": -1.0}, {"rate_per_hour": float("nan")}, {"contact_s": float("inf")},
                {"clockwork": CLOCKWORK._replace(period_s=7.0)}, {"clockwork": CLOCKWORK._replace(beats=())},
                {"requests": -1}, {"hours": b"short"}, {"hours": bytes(24)}, {"weekend_share": 2.0},
            )
        ),
    ],
)  # fmt: skip
def test_what_is_no_candidate_is_refused(encoded: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        decode(encoded)
