"""Commands are encoded as redis-py encodes them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.connection import Connection
from redis.exceptions import DataError

from bestbefore.addon.store.backend.resp.commands import packed

TEXT = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(TEXT | st.binary() | st.integers() | st.floats(), min_size=1))
def test_the_bytes_are_those_of_redis_py(arguments):
    assert b"".join(packed(["HSET", *arguments])) == b"".join(Connection().pack_command("HSET", *arguments))


@pytest.mark.parametrize("argument", [None, True, ["x"]])
def test_other_arguments_are_refused(argument):
    with pytest.raises(DataError):
        packed(["SET", "x", argument])
