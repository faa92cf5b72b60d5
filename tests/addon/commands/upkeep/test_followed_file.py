"""Following a file."""

import os
from contextlib import closing
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.commands.upkeep.followed_file import FollowedFile

PARTS = st.lists(st.one_of(st.binary(max_size=6), st.sampled_from([b"\n", b"rotate", b"cut"])), max_size=12)


@given(PARTS)
def test_each_complete_line_is_given_once_whatever_happens_to_the_file(tmp_path_factory, parts: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    path.touch()
    given, begun, seen = [], b"", []
    with closing(FollowedFile(path, None)) as followed:
        for part in parts:
            if part == b"rotate":
                path.rename(path.with_suffix(".1"))
                seen += followed.lines()  # nothing new is there yet
                path.touch()
                begun = b""
            elif part == b"cut":
                os.truncate(path, 0)
                begun = b""
            else:
                with path.open("ab") as file:
                    file.write(part)
                *complete, begun = (begun + part).split(b"\n")
                given += complete
            seen += followed.lines()
    assert seen == given


def test_only_the_lines_in_the_last_bytes_are_given(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"first\nsecond\nthird\n")
    with closing(FollowedFile(path, 9)) as followed:
        assert list(followed.lines()) == [b"third"]
