"""Why a connection to an origin failed, in sentences for users."""

import errno
import socket
import ssl
from collections.abc import Mapping

_OWN_CA = "if the server is yours, name the file of that authority's certificate as origin_ca in the configuration"
_CLOCK = "check the clock of this machine, or ask the operator of the server to renew the certificate"
_NOT_VERIFIED: Mapping[int, tuple[str, str]] = {  # by OpenSSL's X509_V_ERR_...
    9: ("the certificate of {host} is not valid yet", _CLOCK),
    10: ("the certificate of {host} has expired", _CLOCK),
    18: ("the certificate of {host} is signed by itself, not by an authority", "if the server is yours, name the file "
         "of this certificate as origin_ca in the configuration"),
    19: ("the certificate of {host} comes from an authority that this machine does not trust", _OWN_CA),
    20: ("the certificate of {host} comes from an authority that this machine does not trust", _OWN_CA),
    21: ("the certificate of {host} comes from an authority that this machine does not trust", _OWN_CA),
    23: ("the certificate of {host} was revoked", "do not use this server until its operator has replaced it"),
    62: ("the certificate of the server is for another name than {host}", "check the name in the address"),
    64: ("the certificate of the server is not for the address {host}", "use the server's name instead"),
}  # fmt: skip
_TEXTS: Mapping[str, int] = {  # how OpenSSL's texts for these begin, where only the text is known
    "certificate is not yet valid": 9,
    "certificate has expired": 10,
    "self-signed certificate in certificate chain": 19,
    "self-signed certificate": 18,
    "unable to get local issuer certificate": 20,
    "unable to verify the first certificate": 21,
    "certificate revoked": 23,
    "hostname mismatch": 62,
    "IP address mismatch": 64,
}
_ASK = "ask the operator of the server"
_NO_TLS = ("{host} does not speak TLS on this port", "check the port, or use http:// in the address")
_HANDSHAKE: Mapping[str, tuple[str, str]] = {  # by OpenSSL's reason
    "WRONG_VERSION_NUMBER": _NO_TLS,
    "HTTP_REQUEST": _NO_TLS,
    "DOES_NOT_SPEAK_TLS": _NO_TLS,  # in mitmproxy's words
    "UNSUPPORTED_PROTOCOL": ("{host} speaks only old versions of TLS", _ASK),
    "TLSV1_ALERT_PROTOCOL_VERSION": ("{host} speaks no version of TLS that the proxy does", _ASK),
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": (
        "{host} demands a certificate from its clients, which the proxy does not have",
        "add the host to passthrough in the configuration",
    ),
    "TLSV1_UNRECOGNIZED_NAME": ("the server knows no host {host}", "check the name in the address"),
}
_OTHER_CERTIFICATE = ("the certificate of {host} cannot be verified", _OWN_CA)
_OTHER_HANDSHAKE = ("the TLS handshake with {host} failed", _ASK)
_NO_ADDRESS = ("no address is known for the name {host}", "check the name in the address")
_OF_NAMES = frozenset({socket.EAI_NONAME, socket.EAI_AGAIN, socket.EAI_NODATA})
_RUNS = "check the address, and whether the server runs"
_SYSTEM: Mapping[int, tuple[str, str]] = {
    errno.ECONNREFUSED: ("{host} refuses connections to port {port}", _RUNS),
    errno.ECONNRESET: ("{host} closed the connection while it was being made", "try again later"),
    errno.ETIMEDOUT: ("{host} cannot be reached in time", _RUNS),
    errno.ENETUNREACH: ("there is no way to the network of {host}", "check the network of the proxy's machine"),
    errno.EHOSTUNREACH: ("there is no way to {host}", "check the network of the proxy's machine"),
    errno.EMFILE: ("the proxy has too many open files", "try again later"),
    errno.ENFILE: ("the proxy has too many open files", "try again later"),
}


def explain_tls(error: ssl.SSLError, host: str) -> tuple[str, str]:
    """Return what failed in a TLS handshake, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        sentences = _NOT_VERIFIED.get(error.verify_code, _OTHER_CERTIFICATE)
    else:
        sentences = _HANDSHAKE.get(error.reason or "", _OTHER_HANDSHAKE)
    return _for(sentences, host, 0)


def explain_verification(text: str, host: str) -> tuple[str, str]:
    """Return what is wrong with a certificate of which OpenSSL says this, and what to do."""
    number = next((number for start, number in _TEXTS.items() if text.startswith(start)), 0)
    return _for(_NOT_VERIFIED.get(number, _OTHER_CERTIFICATE), host, 0)


def explain_handshake(text: str, host: str) -> tuple[str, str]:
    """Return what failed in a handshake by a message that contains OpenSSL's reason, and what to do."""
    spaced = text.upper().replace(" ", "_")
    return _for(next((_HANDSHAKE[reason] for reason in _HANDSHAKE if reason in spaced), _OTHER_HANDSHAKE), host, 0)


def explain_unreachable(error: Exception, host: str, port: int) -> tuple[str, str]:
    """Return why no connection could be opened, and what to do."""
    if isinstance(error, socket.gaierror | UnicodeError):
        return _for(_NO_ADDRESS, host, port)
    number = error.errno if isinstance(error, OSError) else None
    return explain_number(number or 0, host, port)


def explain_number(number: int, host: str, port: int) -> tuple[str, str]:
    """Return why no connection could be opened, by the number of a system error or of getaddrinfo, and what to do."""
    known = _NO_ADDRESS if number in _OF_NAMES else _SYSTEM.get(number, ("{host} cannot be reached", _RUNS))
    return _for(known, host, port)


def _for(sentences: tuple[str, str], host: str, port: int) -> tuple[str, str]:
    what, advice = sentences
    return what.format(host=host, port=port), advice
