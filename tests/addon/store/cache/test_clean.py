"""What enters the store can be written."""

from dataclasses import replace

import pytest

from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.backend.codec import decode_copy, encode_copy
from bestbefore.addon.store.cache.clean import cleaned, cleaned_copy, cleaned_observation, is_writable

URL = "http://www.example.org/a"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("", ""),
        ("Non trouv\xe9", "Non trouv\xe9"),
        ("\u20ac \U0001f600", "\u20ac \U0001f600"),
        (b"Non trouv\xe9".decode("utf-8", "surrogateescape"), "Non trouv\xe9"),
        ("\ud800x", "?x"),
    ],
)
def test_bytes_that_no_encoding_explains_become_the_latin_1_characters_that_they_are(text, clean):
    assert cleaned(text) == clean
    assert is_writable(text) == (text == clean)
    assert is_writable(cleaned(text))


def test_a_copy_that_can_be_written_is_left_as_it_is(copy_of):
    copy = copy_of(URL, selecting=(("accept", "a"), ("b", None)))
    assert cleaned_copy(copy) is copy


def test_a_head_is_cleaned_of_what_cannot_be_written_or_must_not_be_sent(copy_of):
    head = Head(404, Fields([("X-\udce9", "caf\udce9\r\nX: y"), ("A", "tab\there \xe9")]), "Non\x00 trouv\udce9\x1b")
    copy = replace(copy_of(URL, selecting=(("accept", "\udcff"),), own_etag='"\udcff"'), head=head)
    copy = cleaned_copy(copy)
    assert copy.head == Head(404, Fields([("X-\xe9", "caf\xe9X: y"), ("A", "tab\there \xe9")]), "Non trouv\xe9")
    assert (copy.selecting, copy.own_etag) == ((("accept", "\xff"),), '"\xff"')
    assert decode_copy(encode_copy(copy)).copy == copy


def test_what_an_undecodable_url_names_is_not_kept_under_another(copy_of):
    for url in ("http://a/\udcff", "http://\ud800/"):
        assert cleaned_copy(copy_of(url)) is None
        assert cleaned_observation(Observation(url, 1.0, "", None)) is None


def test_an_observation_keeps_what_can_be_compared():
    seen = Observation(URL, 1.0, "v\udce9", Fingerprint(etag='"\udce9"'))
    assert cleaned_observation(seen) == Observation(URL, 1.0, "v\xe9", Fingerprint(etag='"\xe9"'))
    plain = Observation(URL, 1.0, "", None)
    assert cleaned_observation(plain) is plain
