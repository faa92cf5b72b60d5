import io
import logging
import os
import pty
import sys
import termios
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TextIO

import pytest

from bestbefore.addon.admin.log import writer as module
from bestbefore.addon.admin.log.writer import Writer


def read_all(descriptor: int) -> str:
    """All that is written until the other end is closed."""
    parts = []
    with suppress(OSError):  # how a pseudo-terminal says the end on Linux
        while part := os.read(descriptor, 65_536):
            parts.append(part)
    return b"".join(parts).decode()


@pytest.fixture
def pipe() -> Iterator[tuple[int, TextIO]]:
    read_end, write_end = os.pipe()
    with os.fdopen(write_end, "w") as stream:
        yield read_end, stream
    with suppress(OSError):
        os.close(read_end)


def test_what_is_written_arrives_in_order(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as stream:
        writer = Writer(stream)
        for i in range(1000):
            writer.write(f"line {i}\n")
        writer.close()
    assert path.read_text().splitlines() == [f"line {i}" for i in range(1000)]


def test_a_text_of_any_characters_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("w") as stream:
        writer = Writer(stream)
        writer.write("\u00e9 \udc80\n")
        writer.close()
    assert path.read_text("utf-8") == "\u00e9 \\udc80\n"


def test_a_reader_that_does_not_read_blocks_no_writer_and_gets_a_count_of_lost_lines(
    pipe: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "QUEUE_LIMIT", 10)
    read_end, stream = pipe
    writer = Writer(stream)
    for _ in range(200):  # a pipe takes 64 KiB: the thread is stuck, the queue full
        writer.write("x" * 1000 + "\n")
    received: list[str] = []
    reader = threading.Thread(target=lambda: received.append(read_all(read_end)), daemon=True)
    reader.start()
    writer.close(patience_s=10)
    stream.close()
    reader.join()
    *lines, notice = received[0].splitlines()
    assert notice == f"... {200 - len(lines)} lines left out: they were not taken fast enough"


def test_a_stopped_terminal_holds_up_neither_writing_nor_closing() -> None:
    master, slave = pty.openpty()
    termios.tcflow(slave, termios.TCOOFF)  # as Ctrl-S does
    with os.fdopen(slave, "w") as stream:
        writer = Writer(stream)
        writer.write("held\n")
        writer.close(patience_s=0.01)
        assert writer._thread.is_alive()
        termios.tcflow(slave, termios.TCOON)
        writer._thread.join()
        assert os.read(master, 100) == b"held\r\n"
    os.close(master)


def test_an_error_is_said_once_until_writing_succeeds(
    pipe: tuple[int, TextIO], caplog: pytest.LogCaptureFixture
) -> None:
    read_end, stream = pipe
    os.close(read_end)
    writer = Writer(stream)
    with caplog.at_level(logging.WARNING):
        writer.write("a\n")
        writer.write("b\n")
        writer.close()
    assert [record.getMessage() for record in caplog.records] == ["the request log cannot be written: Broken pipe"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="this system has no /dev/full")
def test_a_full_disk_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with Path("/dev/full").open("w") as stream:
        writer = Writer(stream)
        writer.write("a\n")
        writer.write("b\n")
        writer.close()
    assert [record.args for record in caplog.records] == [("No space left on device",)]


def test_a_stream_that_is_no_file_is_refused_at_once() -> None:
    with pytest.raises(OSError, match="fileno"):
        Writer(io.StringIO())
