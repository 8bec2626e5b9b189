"""Whether a client may speak HTTP/2, which it says in clear in the first message of TLS.

A client that offers it gets it: kube-apiserver prefers it. So what is offered is what will be spoken.
"""

from __future__ import annotations

HANDSHAKE = 22
CLIENT_HELLO = 1
ALPN = 16
LONGEST = 1 << 16
"""More than this is no greeting that anybody sends."""


def offers_http2(said: bytes) -> bool | None:
    """Whether a client offers HTTP/2, from all that it has said so far; None as long as that cannot be told."""
    if said[:1] and said[0] != HANDSHAKE:
        return False
    message = _message(said)
    if message is None:
        return None if len(said) <= LONGEST else False
    try:
        return b"h2" in _protocols(message)
    except (IndexError, ValueError):
        return False


def _message(said: bytes) -> bytes | None:
    """The first message, which may be spread over several records."""
    found, at = b"", 0
    while at + 5 <= len(said) and said[at] == HANDSHAKE:
        length = int.from_bytes(said[at + 3 : at + 5], "big")
        found += said[at + 5 : at + 5 + length]
        at += 5 + length
    if len(found) < 4:
        return None
    length = int.from_bytes(found[1:4], "big")
    return found[: 4 + length] if len(found) >= 4 + length else None


def _protocols(message: bytes) -> list[bytes]:
    if message[0] != CLIENT_HELLO:
        return []
    at = 4 + 2 + 32  # its head, the version and the random number
    at += 1 + message[at]  # the session
    at += 2 + int.from_bytes(message[at : at + 2], "big")  # the ciphers
    at += 1 + message[at]  # the compressions
    at += 2  # the length of all extensions
    while at + 4 <= len(message):
        kind, length = int.from_bytes(message[at : at + 2], "big"), int.from_bytes(message[at + 2 : at + 4], "big")
        if kind == ALPN:
            return _names(message[at + 6 : at + 4 + length])
        at += 4 + length
    return []


def _names(listed: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(listed):
        found.append(listed[at + 1 : at + 1 + listed[at]])
        at += 1 + listed[at]
    return found
