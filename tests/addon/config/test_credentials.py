"""The file of users and passwords."""

from pathlib import Path

import pytest

from bestbefore.addon.config.credentials import read_credentials


def test_a_credentials_file_is_read_and_a_bad_line_named_without_its_password(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_text("# users\n\nann:a:b\nbob:c\n")
    assert read_credentials(file) == {"ann": "a:b", "bob": "c"}
    file.write_text("ann:x\nhunter2\n")
    with pytest.raises(ValueError, match=r"users:2: expected USER:PASSWORD") as error:
        read_credentials(file)
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize("content", [b"", b"# users\n\n"])
def test_a_file_without_users_would_ask_nobody_and_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "users"
    file.write_bytes(content)
    with pytest.raises(ValueError, match="expected lines USER:PASSWORD"):
        read_credentials(file)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "users"
    file.write_bytes(b"ann:\xff\n")
    with pytest.raises(ValueError, match="saved as UTF-8"):
        read_credentials(file)
