"""Content on its way to an origin is as long as announced, or breaks off."""

import asyncio

import pytest

from bestbefore.addon.proxy.origin.upload import Upload, UploadError


async def read(upload: Upload) -> bytes:
    return b"".join([piece async for piece in upload.chunks(0.5)])


async def test_content_is_handed_on_as_it_comes() -> None:
    wanted: list[int] = []
    upload = Upload(6, lambda: wanted.append(upload.waiting_bytes))
    upload.feed(b"abc")
    upload.feed(b"def")
    assert upload.waiting_bytes == 6
    upload.end()
    assert await read(upload) == b"abcdef"
    assert wanted == [3, 0]


@pytest.mark.parametrize(("length", "pieces"), [(2, [b"abc"]), (4, [b"abc"]), (2, [b"a", b"bc"])])
async def test_content_of_another_length_is_refused(length: int, pieces: list[bytes]) -> None:
    upload = Upload(length)
    for piece in pieces:
        upload.feed(piece)
    upload.end()
    with pytest.raises(UploadError):
        await read(upload)


async def test_a_client_that_stops_is_not_awaited_for_ever() -> None:
    upload = Upload(None)
    upload.feed(b"abc")
    with pytest.raises(UploadError, match="stopped"):
        await read(upload)


async def test_a_client_that_leaves_ends_it() -> None:
    upload = Upload(None)
    upload.fail("the client is gone")
    with pytest.raises(UploadError, match="gone"):
        await read(upload)


async def test_what_is_of_no_use_is_not_held() -> None:
    upload = Upload(None)
    upload.feed(b"abc")
    upload.drop()
    upload.feed(b"def")
    assert upload.waiting_bytes == 0


async def test_a_client_may_leave_after_all_of_it_has_come() -> None:
    upload = Upload(3)
    upload.feed(b"abc")
    upload.end()
    assert await read(upload) == b"abc"
    leaving = asyncio.create_task(upload.wait_for_failure())
    await asyncio.sleep(0)
    assert not leaving.done()
    upload.fail("the client is gone")
    with pytest.raises(UploadError, match="gone"):
        await leaving
