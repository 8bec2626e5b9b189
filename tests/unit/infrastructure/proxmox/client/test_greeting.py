"""Who answers at an address, and why a connection did not come about, in words that people know.

Over real sockets on loopback.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from nagaya.infrastructure.proxmox.client import Endpoint, Trust
from nagaya.infrastructure.proxmox.client.greeting import cause, fingerprint_of, greeted
from nagaya.pki import certificates, keys
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.usages import Usage
from nagaya.world import SystemClock

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


CLUSTER = CertificateAuthority.create("Proxmox Virtual Environment", SystemClock())
STRANGER = CertificateAuthority.create("somebody else", SystemClock())


@asynccontextmanager
async def host(folder: Path) -> AsyncIterator[tuple[Endpoint, bytes]]:
    """A host with a certificate of its cluster, and that certificate in DER."""
    spec = CertificateSpec("pve1", usages=(Usage.SERVER_AUTH,), ip_addresses=("127.0.0.1",))
    certificate, key = CLUSTER.issue_pair(spec, SystemClock())
    (folder / "crt").write_bytes(certificates.to_pem(certificate))
    (folder / "key").write_bytes(keys.to_pem(key))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "crt", folder / "key")
    listener = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    try:
        port = listener.sockets[0].getsockname()[1]
        yield Endpoint("127.0.0.1", port), certificate.public_bytes(Encoding.DER)
    finally:
        listener.close()


@pytest.mark.parametrize(
    "trust", [Trust(authority=CLUSTER.certificate_pem.decode()), Trust(insecure=True)], ids=["recognised", "anybody"]
)
async def test_the_certificate_that_a_host_shows_is_told_as_it_is(tmp_path: Path, trust: Trust) -> None:
    async with host(tmp_path) as (endpoint, shown):
        found = await greeted(endpoint, trust)
        assert found == shown
        digits = hashlib.sha256(shown).hexdigest().upper()
        assert fingerprint_of(found) == ":".join(digits[place : place + 2] for place in range(0, 64, 2))


async def test_a_host_of_another_authority_is_not_told_but_refused(tmp_path: Path) -> None:
    async with host(tmp_path) as (endpoint, _):
        with pytest.raises(OSError, match="certificate") as refusal:
            await greeted(endpoint, Trust(authority=STRANGER.certificate_pem.decode()))
        assert cause(refusal.value) == "unable to get local issuer certificate"
