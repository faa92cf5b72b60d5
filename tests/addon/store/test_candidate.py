"""Candidates as they are stored."""

import msgspec
import pytest

from bestbefore.addon.store.candidate import Candidate, decode, encode

CANDIDATE = Candidate(0.25, 1.7e9, 7, bytes(range(24)), 0.2, ("loopback",), 1.8e9)


def test_a_candidate_comes_back_as_it_was_written() -> None:
    assert decode(encode(CANDIDATE)) == CANDIDATE
    assert len(encode(CANDIDATE)) < 100


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
                {"requests": -1}, {"hours": b"short"}, {"hours": bytes(24)}, {"weekend_share": 2.0},
            )
        ),
    ],
)  # fmt: skip
def test_what_is_no_candidate_is_refused(encoded: bytes) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        decode(encoded)
