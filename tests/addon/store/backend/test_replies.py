"""What a server answers is not relied on."""

import math

import pytest

from bestbefore.addon.store.backend.interface import Tombstone
from bestbefore.addon.store.backend.replies import LARGEST, count_of, counts_of, number_of, pass_on_tombstone, text_of


def test_text_is_text_or_nothing():
    assert (text_of("\xe9".encode()), text_of(b"\xff")) == ("\xe9", None)


@pytest.mark.parametrize("raw", [None, b"", b"x", b"nan", b"inf", b"\xff", math.inf])
def test_what_is_no_number_is_none_and_counts_nothing(raw):
    assert (number_of(raw), count_of(raw)) == (None, 0)


def test_numbers():
    assert (number_of(b"1.5"), count_of(b"1.5"), count_of(7.0), count_of(b"-3")) == (1.5, 1, 7, 0)


def test_counts_leave_out_what_is_none():
    flat = [b"1", b"2", b"x", b"1", b"3", b"1.5", b"4", b"\xff", b"9" * 30, b"1", b"5", b"9" * 5000, b"6", b"-1"]
    assert counts_of(flat) == {1: 2, 6: -1}


def test_only_readable_messages_are_received():
    received, tombstone = [], Tombstone(1.0, "http://a/", exact=True)
    pass_on_tombstone(received.append, {b"good": tombstone}.get, b"bad")
    pass_on_tombstone(received.append, {b"good": tombstone}.get, b"good")
    assert received == [tombstone]


@pytest.mark.parametrize("hour", [LARGEST, -LARGEST])
def test_counts_of_impossible_hours_and_impossible_counts_are_left_out(hour):
    nearest = hour - 1 if hour > 0 else hour + 1
    flat = [str(n).encode() for n in (hour, 1, nearest, 2, 3, hour, 4, nearest)]
    assert counts_of(flat) == {nearest: 2, 4: nearest}
