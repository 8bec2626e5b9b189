"""Why a webhook could not be asked, in the words that a Go client has for it.

People search for these texts, and tools match on them (`connection refused`, `x509: certificate signed by unknown
authority`), so each failure of the network or of TLS is told as the real server tells it.
"""

from __future__ import annotations

import errno
import ssl
from collections.abc import Mapping
from typing import Final

import aiohttp
import orjson

from nagaya.apiserver.meta import gostring
from nagaya.foreign_text import cut

_SYSTEM: Final[Mapping[int, str]] = {
    errno.ECONNREFUSED: "connect: connection refused",
    errno.EHOSTUNREACH: "connect: no route to host",
    errno.ENETUNREACH: "connect: network is unreachable",
    errno.ETIMEDOUT: "connect: connection timed out",
    errno.ECONNRESET: "connect: connection reset by peer",
}
_UNKNOWN_AUTHORITY: Final = frozenset({2, 18, 19, 20, 21, 24})  # OpenSSL's verification codes
_EXPIRED: Final = frozenset({9, 10})
_OTHER_NAME: Final = frozenset({62, 64})
_MESSAGES: Final[Mapping[int, str]] = {
    400: "the server rejected our request for an unknown reason",
    401: "the server has asked for the client to provide credentials",
    404: "the server could not find the requested resource",
    405: "the server does not allow this method on the requested resource",
    409: "the server reported a conflict",
    422: "the server rejected our request due to an error in our request",
    429: "the server has received too many requests and has asked us to try again later",
    503: "the server is currently unable to handle the request",
    504: "the server was unable to return a response in the time allotted, but may still be processing the request",
}


def of_connection(error: Exception, address: str, server_name: str) -> str:
    """Why nobody could be talked to at `address`, who should have been `server_name`."""
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return of_certificate(error.certificate_error, server_name)
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"dial tcp: lookup {address.rpartition(':')[0]}: no such host"
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, ssl.SSLCertVerificationError):
        return of_certificate(cause, server_name)
    if isinstance(cause, ssl.SSLError) and "WRONG_VERSION_NUMBER" in str(cause):
        return "http: server gave HTTP response to HTTPS client"
    if isinstance(cause, OSError) and (known := _SYSTEM.get(cause.errno or 0)):
        return f"dial tcp {address}: {known}"
    if isinstance(cause, (aiohttp.ServerDisconnectedError, aiohttp.ClientPayloadError)):
        return "EOF"
    return str(cause) or type(cause).__name__


def of_certificate(error: Exception, server_name: str) -> str:
    """Why a certificate was not accepted."""
    code = getattr(error, "verify_code", 0)
    if code in _UNKNOWN_AUTHORITY:
        detail = "certificate signed by unknown authority"
    elif code in _EXPIRED:
        detail = "certificate has expired or is not yet valid"
    elif code in _OTHER_NAME or not code:
        detail = f"certificate is not valid for any names, but wanted to match {server_name}"
    else:
        detail = str(getattr(error, "verify_message", error))
    return f"tls: failed to verify certificate: x509: {detail}"


def of_status(code: int, content_type: str, body: bytes) -> str:
    """What an answer with an error's code says: the Status in it, or what the code means."""
    try:
        answer = orjson.loads(body)
    except ValueError:
        answer = None
    if isinstance(answer, dict) and answer.get("kind") == "Status" and answer.get("message"):
        return cut(str(answer["message"]))
    said = "unknown"
    if not content_type or content_type.startswith("text/"):
        said = cut(body.decode(errors="replace").strip()) or "unknown"
    if code == 403:
        return said
    if code in _MESSAGES:
        return _MESSAGES[code]
    if code >= 500:
        return f"an error on the server ({gostring.quote(said)}) has prevented the request from succeeding"
    return f"the server responded with the status code {code} but did not return more information"
