import pytest

from bestbefore.replay.traces.inference.validators import validator_of

DATE = "Sun, 06 Nov 1994 08:49:37 GMT"


def test_last_modified_goes_before_an_etag() -> None:
    assert validator_of(DATE, '"a"') == DATE
    assert validator_of("", '"a"') == '"a"'
    assert validator_of(None, None) is None
    assert validator_of(None, "") is None


@pytest.mark.parametrize("etag", ['"5e-8"', 'W/"5e-8"', '"5e-8-gzip"', '"5e-8;br"', 'W/"5e-8--gzip"'])
def test_an_etag_is_the_same_in_all_content_codings(etag: str) -> None:
    assert validator_of(None, etag) == '"5e-8"'
