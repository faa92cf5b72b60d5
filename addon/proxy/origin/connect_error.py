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
_ASK = "ask the operator of the server"
_HANDSHAKE: Mapping[str, tuple[str, str]] = {  # by OpenSSL's reason
    "WRONG_VERSION_NUMBER": ("{host} does not speak TLS on this port", "check the port, or use http:// in the address"),
    "HTTP_REQUEST": ("{host} does not speak TLS on this port", "check the port, or use http:// in the address"),
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


def explain_unreachable(error: Exception, host: str, port: int) -> tuple[str, str]:
    """Return why no connection could be opened, and what to do."""
    if isinstance(error, socket.gaierror | UnicodeError):
        return _for(("no address is known for the name {host}", "check the name in the address"), host, port)
    number = error.errno if isinstance(error, OSError) else None
    return _for(_SYSTEM.get(number or 0, ("{host} cannot be reached", _RUNS)), host, port)


def _for(sentences: tuple[str, str], host: str, port: int) -> tuple[str, str]:
    what, advice = sentences
    return what.format(host=host, port=port), advice
