"""What holds for all commands that work on the store; `show`, `purge` and `forget` have tests of their own."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bestbefore.addon.commands.store_options import parse_objects
from bestbefore.addon.errors import InputError

pytestmark = pytest.mark.live

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("command", ["purge", "forget"])
class TestWrongInput:
    def test_what_names_no_objects_is_one_line(self, bestbefore: Run, command: str, tmp_path: Path) -> None:
        for named in ("", "two words", "example.org:80", "http://", "ftp://example.org/", "https://[::1", "http://a:x/"):
            status, out, err = bestbefore(command, named, "--state", tmp_path)
            assert (status, out, err.count("\n")) == (2, "", 1)
            assert repr(named) in err

    def test_a_folder_without_a_store_is_left_as_it_is(self, bestbefore: Run, command: str, tmp_path: Path) -> None:
        folder = tmp_path / "none"
        status, _, err = bestbefore(command, "*", "--state", folder)
        assert (status, err) == (
            2, f"bestbefore: {folder}: there is no store in this state folder: no proxy has run with it\n"
        )
        assert not folder.exists()

    def test_a_store_that_does_not_answer_is_an_error(self, bestbefore: Run, command: str, tmp_path: Path) -> None:
        status, out, err = bestbefore(command, "*", "--store", f"unix://{tmp_path}/none")
        assert (status, out) == (1, "")
        assert err == (
            f"bestbefore: the store does not answer (unix://{tmp_path}/none): check its URL, and whether it runs\n"
        )

    def test_a_store_that_refuses_to_write_is_an_error(self, bestbefore: Run, command: str, valkey: Any) -> None:
        assert bestbefore(command, "*", "--store", valkey.url)[0] == 0
        with valkey.client as client:
            client.execute_command("ACL", "SETUSER", "reader", "on", ">pw", "~*", "&*", "+@all", "-@write")
            status, out, err = bestbefore(command, "*", "--store", valkey.url.replace("//", "//reader:pw@"))
            client.execute_command("ACL", "DELUSER", "reader")
        assert (status, out) == (1, "")
        assert err.splitlines()[-1].startswith("bestbefore: the store refuses to write: ")

    def test_a_broken_configuration_is_wrong_input(self, bestbefore: Run, command: str, tmp_path: Path) -> None:
        config = tmp_path / "proxy.toml"
        config.write_text("[proxy]\nstat = 1\n")
        status, _, err = bestbefore(command, "*", "--config", config)
        assert (status, "did you mean state?" in err) == (2, True)


def test_the_names_of_objects_are_written_as_the_store_has_them() -> None:
    assert parse_objects("HTTP://Example.ORG:80") == "http://example.org/"
    assert parse_objects("HTTPS://Example.ORG/Feeds/*?A=1") == "https://example.org/Feeds/*?A=1"
    assert parse_objects("*.Example.org/A") == "*.Example.org/A"
    with pytest.raises(InputError, match="not a host pattern"):
        parse_objects("-")
