"""Atomic writing of files: the new content replaces the old one when it is complete."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file beside `path` for writing, and move it to `path` when the context ends without an error.

    On an error the old file stays. A symbolic link is followed, and a file keeps its permissions. A device or a pipe is
    written directly. Raises OSError with the name `path`.
    """
    with naming(path):
        if path.exists() and not path.is_file():
            with path.open("wb") as file:
                yield file
            return
        path = path.resolve()
        mode = path.stat().st_mode & 0o777 if path.exists() else _mode_of_new_files()
        try:
            handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        except OSError as error:
            error.filename = None  # it names the temporary file
            raise
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                yield file
            part.chmod(mode)  # which mkstemp makes private
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _mode_of_new_files() -> int:
    umask = os.umask(0)  # which cannot be read otherwise
    os.umask(umask)
    return 0o666 & ~umask


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Add this file name to an OSError without one, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = os.fspath(path)
        raise
