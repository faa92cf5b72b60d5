"""The messages about a connection that failed: sentences, and nothing of Python's."""

import errno
import socket
import ssl

import pytest
from OpenSSL import SSL

from bestbefore.addon.proxy.origin.connect_error import (
    _NOT_VERIFIED,
    explain_tls,
    explain_unreachable,
    explain_verification,
)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (9, "not valid yet"),
        (10, "has expired"),
        (18, "signed by itself"),
        (20, "an authority that this machine does not trust"),
        (62, "for another name than a.example"),
        (79, "cannot be verified"),
    ],
)
def test_a_certificate_that_is_not_accepted(code: int, words: str) -> None:
    error = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] internal (_ssl.c:1028)")
    error.verify_code = code
    what, advice = explain_tls(error, "a.example")
    assert words in what
    assert advice
    assert "ssl" not in (what + advice).lower()


@pytest.mark.parametrize(("reason", "words"), [("WRONG_VERSION_NUMBER", "does not speak TLS"), (None, "failed")])
def test_a_handshake_that_fails(reason: str | None, words: str) -> None:
    error = ssl.SSLError(1, "[SSL] internal (_ssl.c:1028)")
    error.reason = reason  # type: ignore[assignment]
    what, _ = explain_tls(error, "a.example")
    assert words in what
    assert "_ssl" not in what


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "Connect call"), "a refuses connections to port 1"),
        (socket.gaierror(-2, "Name or service not known"), "no address is known for the name a"),
        (UnicodeError("label too long"), "no address is known for the name a"),
        (OSError(errno.EHOSTUNREACH, "No route to host"), "there is no way to a"),
        (OSError("Multiple exceptions: ..."), "a cannot be reached"),
        (RuntimeError("File descriptor 7 is used by transport"), "a cannot be reached"),
    ],
)  # fmt: skip
def test_a_server_that_cannot_be_reached(error: Exception, what: str) -> None:
    assert explain_unreachable(error, "a", 1)[0] == what


@pytest.mark.parametrize("number", _NOT_VERIFIED)
def test_the_texts_of_openssl_have_the_sentences_of_its_numbers(number: int) -> None:
    lib, ffi = SSL._lib, SSL._ffi  # type: ignore[attr-defined]
    text = ffi.string(lib.X509_verify_cert_error_string(number)).decode()
    error = ssl.SSLCertVerificationError()
    error.verify_code = number
    assert explain_verification(text, "a") == explain_tls(error, "a")
