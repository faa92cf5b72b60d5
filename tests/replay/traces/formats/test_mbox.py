from calendar import timegm
from collections.abc import Callable

import pytest

from bestbefore.replay.traces.reading import Reading

Read = Callable[..., Reading]
ErrorOf = Callable[..., str]

T = timegm((1997, 4, 1, 10, 24, 4))


def message(separator: str, *header: str, body: str = "hello\n") -> bytes:
    return "\n".join([separator, *header, "", body, ""]).encode("latin-1")


FIRST = message("From a@example.org Tue Apr  1 10:24:04 1997", "Subject: x", "Date: Tue, 1 Apr 1997 12:24:04 +0200")


def arrivals(reading: Reading) -> list[float]:
    return [time_s for time_s, _ in reading.trace.rows()]


def test_arrivals_are_updates_of_the_mailbox(read: Read) -> None:
    second = message("From b@x  Wed Apr  2 00:00:00 1997", "date: Wed, 2 Apr 97 00:00:00 GMT", "Message-ID: <b>")
    reading = read(FIRST + second, None, "r-help.mbox.gz")
    assert reading.format == "mbox"
    assert list(reading.trace.rows()) == [(T, "r-help"), (timegm((1997, 4, 2, 0, 0, 0)), "r-help")]


def test_a_message_seen_before_is_left_out(read: Read) -> None:
    twice = message("From a@x Tue Apr  1 10:24:04 1997", "Message-ID:\n <1@x>", "Date: Tue, 1 Apr 1997 10:24:04 +0000")
    other = twice.replace(b"<1@x>", b"<2@x>").replace(b"10:24:04 +", b"10:24:05 +")
    reading = read(twice + twice.replace(b"10:24:04 +", b"11:24:04 +") + other, "mbox")
    assert arrivals(reading) == [T, T + 1]
    assert list(reading.skipped.notes.items()) == [("messages left out, their Message-ID seen before", 1)]


@pytest.mark.parametrize(
    "date",
    [[], ["Date: yesterday"], ["Date: Thu, 1 Jan 2099 00:00:00 +0000"], ["Date: Fri, 1 Jan 1904 00:00:00 +0000"],
     ["Date: Wed, 1 Jan 1997 00:00:00 +0000"], ["Date: Tue, 99 Apr 99999 12:24:04 +0200"], ["Date: \xff\xfe"]],
)
@pytest.mark.parametrize(
    "delivered",
    ["Tue Apr  1 10:24:04 1997", "Tue Apr 01 10:24:04 +0000 1997", "Tue Apr  1 12:24:04 1997 +0200",
     "Tue, 1 Apr 1997 10:24:04 +0000"],
)
def test_the_line_before_a_message_stands_in_for_a_date_that_is_not_credible(
    read: Read, date: list[str], delivered: str
) -> None:
    reading = read(message(f"From a at example.org {delivered}", *date), "mbox")
    assert arrivals(reading) == [T]
    assert reading.skipped.notes.total() == 1


def test_a_date_of_a_message_fetched_late_is_believed(read: Read) -> None:
    late = message("From - Thu Apr  1 10:24:04 2010", "Date: Tue, 1 Apr 1997 10:24:04 +0000")
    assert arrivals(read(late, "mbox")) == [T]


@pytest.mark.parametrize("zone", ["", " -0000", " nowhere"])
def test_a_date_without_zone_is_utc_whatever_the_zone_of_the_machine(
    read: Read, monkeypatch: pytest.MonkeyPatch, zone: str
) -> None:
    monkeypatch.setenv("TZ", "America/New_York")
    reading = read(message("From a Tue Apr  1 10:24:04 1997", f"Date: Tue, 1 Apr 1997 10:24:04{zone}"), "mbox")
    assert arrivals(reading) == [T]
    assert list(reading.skipped.notes.items()) == [("dates without a time zone, read as UTC", 1)]


def test_lines_of_a_body_begin_no_message(read: Read) -> None:
    body = "From here on it is text\n\nFrom a@x to b@y\nDate: Tue, 1 Apr 2003 10:24:04 +0000\n"
    only = message("From a Tue Apr  1 10:24:04 1997", "Date: Tue, 1 Apr 1997 10:24:04 +0000", body=body)
    assert arrivals(read(only, "mbox")) == [T]


def test_a_message_without_a_date_is_skipped_and_reported(read: Read) -> None:
    bad = message("From a Tue Apr 99 10:24:04 1997", "Subject: none")
    reading = read(FIRST + bad, "mbox")
    assert arrivals(reading) == [T]
    first = list(reading.skipped.warnings())[1]
    assert first.endswith("trace: line 7: date 'Tue Apr 99 10:24:04 1997': expected one of a message since 1970")


def test_text_is_no_mailbox(error_of: ErrorOf) -> None:
    assert error_of(b"hello\nFrom me\n", "mbox") == "nothing usable, read as mbox (mailbox, its messages as updates)"
