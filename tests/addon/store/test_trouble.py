import msgspec
import pytest

from bestbefore.addon.store.trouble import Trouble, decode, encode


def test_a_trouble_comes_back_as_it_was_written() -> None:
    trouble = Trouble("status 404", 1_706_227_200.5)
    assert decode(encode(trouble)) == trouble
    assert decode(msgspec.msgpack.encode(["status 404", 1.0])) == Trouble("status 404", 1.0), "of an earlier version"


@pytest.mark.parametrize("encoded", [b"", b"\xc1", b"\x91\xa1a", b"\x92\x01\x02"])
def test_anything_else_is_refused(encoded: bytes) -> None:
    with pytest.raises(ValueError, match="a stored trouble cannot be read"):
        decode(encoded)
