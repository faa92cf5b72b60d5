"""Candidates as they are stored."""

import msgspec
import pytest

from bestbefore.addon.store.candidate import Candidate, decode, encode
from bestbefore.policies.models.clockwork.beats import ClockBeat, Clockwork

CANDIDATE = Candidate(0.25, 1.7e9, 7, bytes(range(24)), 0.2, ("loopback",), 1.8e9)
CLOCKWORK = Clockwork(3600.0, (ClockBeat(5.0, 65.0, 0.7), ClockBeat(3590.0, 3650.0, 0.3)), 0.9)


def test_a_candidate_comes_back_as_it_was_written() -> None:
    assert decode(encode(CANDIDATE)) == CANDIDATE
    assert len(encode(CANDIDATE)) < 100
    beating = CANDIDATE._replace(clockwork=CLOCKWORK)
    assert decode(encode(beating)) == beating


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
