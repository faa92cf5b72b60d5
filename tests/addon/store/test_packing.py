"""What is packed comes back, and what is damaged is refused."""

import hashlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.store.packing import DICTIONARY, MARK, pack, unpack


def test_the_dictionary_is_that_with_which_stored_data_was_packed() -> None:
    assert hashlib.sha256(DICTIONARY).hexdigest() == "752340efb24de314e48abcf7276f84e921c01515c6b19e00a5a1b55c4fca733e"


@given(st.binary(max_size=3000) | st.lists(st.sampled_from([b"\xa7updates", b"\xa4Date", b"x"])).map(b"".join))
def test_data_comes_back(data: bytes) -> None:
    assert unpack(pack(data)) == data or data.startswith(MARK)
    assert len(pack(data)) <= len(data)


@given(st.binary(max_size=60))
def test_damaged_data_is_refused_or_read(rest: bytes) -> None:
    with suppress(ValueError):
        assert isinstance(unpack(MARK + rest), bytes)


def test_cut_data_is_refused() -> None:
    packed = pack(b"\xa7updates\xa4Date" * 9)
    assert packed.startswith(MARK)
    for end in range(len(MARK), len(packed)):
        with pytest.raises(ValueError, match="cannot be unpacked"):
            unpack(packed[:end])
