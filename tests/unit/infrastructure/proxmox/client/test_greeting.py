"""Why a connection did not come about, in words that people know."""

from __future__ import annotations

import socket
import ssl

import pytest

from nagaya.infrastructure.proxmox.client.greeting import cause

REFUSED = ConnectionRefusedError(111, "Connect call failed ('192.0.2.1', 8006)")


def tls(reason: str) -> ssl.SSLError:
    made = ssl.SSLError(1, f"[SSL: {reason}] (_ssl.c:1006)")
    made.reason = reason
    return made


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (REFUSED, "Connection refused"),
        (OSError(113, "Connect call failed ('192.0.2.1', 8006)"), "No route to host"),
        (OSError(f"Multiple exceptions: [Errno 111] {REFUSED}, [Errno 101] x"), "Connection refused, Network is"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (tls("WRONG_VERSION_NUMBER"), "no TLS comes about (wrong version number)"),
        (TimeoutError(), "TimeoutError"),
    ],
    ids=["refused", "route", "several", "name", "tls", "nothing"],
)
def test_it_is_said_without_calls_and_addresses_of_python(error: OSError, says: str) -> None:
    assert cause(error).startswith(says)
    assert "Connect call failed" not in cause(error)
