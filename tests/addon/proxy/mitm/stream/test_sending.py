"""The content of an answer, in pieces; how it arrives is in `test_stream`."""

from bestbefore.addon.proxy.mitm.stream.sending import PIECE_BYTES, pieces


async def test_pieces_are_of_one_size_but_the_last() -> None:
    body = bytes(range(256)) * (PIECE_BYTES // 128) + b"!"
    found = [piece async for piece in pieces(body)]
    assert b"".join(found) == body
    assert [len(piece) for piece in found] == [PIECE_BYTES, PIECE_BYTES, 1]
