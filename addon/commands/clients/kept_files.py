"""Files for programs that read no variable for a certificate, kept in the user's cache folder."""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from tempfile import NamedTemporaryFile


def kept_file(folder: Path, source: bytes, suffix: str, make: Callable[[], bytes]) -> Path:
    """Return the file in the folder that was made from a source; it is made if it is not there. Raises OSError.

    Its name has the digest of the source.
    """
    path = folder / f"{hashlib.sha256(source).hexdigest()[:32]}{suffix}"
    if path.exists():
        return path
    content = make()
    folder.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=folder, delete=False) as file:
        file.write(content)
    os.replace(file.name, path)  # noqa: PTH105
    return path


def wget_settings(system: Path, bundle: Path, folder: Path) -> Path:
    """Return a file with wget's settings for the system, and the bundle as its authorities. Raises OSError.

    The user's own settings, in `~/.wgetrc`, apply after it.
    """
    settings = system.read_bytes() if system.is_file() else b""
    content = settings + f"\nca_certificate = {bundle}\n".encode()
    return kept_file(folder, content, ".wgetrc", lambda: content)
