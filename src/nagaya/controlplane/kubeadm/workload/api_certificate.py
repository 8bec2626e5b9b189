"""Until when the API server on a machine can prove who it is: kubeadm renews its certificate with the machine only."""

from __future__ import annotations

import asyncio
import ssl
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.x509.oid import NameOID

from nagaya.controlplane.kubeadm.tenant_seen import API_SERVER, pod_name
from nagaya.controlplane.kubeadm.workload.static_pod import NAMESPACE
from nagaya.controlplane.kubeadm.workload_port import WorkloadError
from nagaya.kube.errors import ApiError
from nagaya.kube.streams.stream import Dialer, StreamBroken
from nagaya.kube.streams.tls import TlsStream
from nagaya.kube.transport import NoAnswer

TIMEOUT: Final = 15.0
"""Seconds for all of it."""
COMMON_NAME: Final = "kube-apiserver"
"""What kubeadm's certificate says. Another one, such as a user's, is not kubeadm's to renew."""


class _InspectedStream(TlsStream):
    """An encrypted stream whose peer can be looked at."""

    @property
    def certificate(self) -> x509.Certificate:
        """What the peer has shown."""
        shown = self._tls.getpeercert(binary_form=True)
        assert shown is not None, "servers always show one"
        return x509.load_der_x509_certificate(shown)


async def certificate_expiry(dialer: Dialer, node: str, port: int) -> datetime:
    """When the certificate of the API server on a Node ends. Raises WorkloadError."""
    failed = f"the certificate of kube-apiserver on Node {node} cannot be looked at"
    try:
        async with asyncio.timeout(TIMEOUT):
            certificate = await _shown(dialer, node, port)
    except TimeoutError as error:
        raise WorkloadError(f"{failed}: no answer within {TIMEOUT:g} s") from error
    except (ApiError, NoAnswer, StreamBroken, OSError, ValueError) as error:
        raise WorkloadError(f"{failed}: {error}") from error
    names = [each.value for each in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)]
    if COMMON_NAME not in names:
        raise WorkloadError(f"{failed}: it has the common name {', '.join(map(str, names))}, not {COMMON_NAME}")
    return certificate.not_valid_after_utc


async def _shown(dialer: Dialer, node: str, port: int) -> x509.Certificate:
    # Whatever it shows is looked at, and nothing is said to it.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    stream = await dialer.dial(NAMESPACE, pod_name(API_SERVER, node), port)
    try:
        return (await _InspectedStream.open(stream, context, None)).certificate
    finally:
        await stream.close()
