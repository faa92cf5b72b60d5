"""The file of users and passwords."""

from pathlib import Path


def read_credentials(path: Path) -> dict[str, str]:
    """Read users and passwords from a file of lines `user:password`; skip empty lines and those that start with #.

    Raises ValueError, which names file and line (never the password), and OSError. A file without users is an error, as
    it would ask no client for a password.
    """
    users: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path}: expected a text that is saved as UTF-8") from None
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        user, colon, password = line.partition(":")
        if not (user and colon and password):
            raise ValueError(f"{path}:{number}: expected USER:PASSWORD")
        users[user] = password
    if not users:
        raise ValueError(f"{path}: expected lines USER:PASSWORD, and there is none")
    return users
