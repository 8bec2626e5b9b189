"""Ports of simulated pods: which of them answer, and what a node that is not well does to them."""

from __future__ import annotations

import asyncio
import ssl
from datetime import timedelta

import pytest
from cryptography import x509

from nagaya.kube.errors import ApiError
from nagaya.kube.streams.forward import ForwardFailed
from nagaya.kube.streams.tls import TlsStream
from nagaya.pki.authority import CertificateAuthority
from nagaya.simulators.tenant.settings import Fault, NodeSettings
from support.simulated_tenant import Kubectl, Make, pod
from support.tenant_etcd import Administrator, first
from support.virtual_time import LoopClock

pytestmark = pytest.mark.slow

CLOCK = LoopClock()


async def one(make: Make) -> tuple[Kubectl, Administrator]:
    """A control plane machine, up."""
    api = await make()
    await api.tenant.join(first("a", CertificateAuthority.create("etcd-ca", CLOCK)))
    await api.wait(3)
    return api, Administrator(api.tenant, CLOCK)


async def test_an_api_server_shows_a_certificate_of_the_day_its_machine_came_up(make: Make) -> None:
    api, way = await one(make)
    await api.wait(3600)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    stream = await TlsStream.open(await way.dial("kube-system", "kube-apiserver-a", 6443), context, None)
    shown = stream._tls.getpeercert(binary_form=True)
    assert shown is not None
    certificate = x509.load_der_x509_certificate(shown)
    certificate.verify_directly_issued_by(api.tenant.settings.authority.certificate)
    assert certificate.subject.rfc4514_string() == "CN=kube-apiserver"
    age = CLOCK.now() - (certificate.not_valid_after_utc - timedelta(days=365))
    assert timedelta(minutes=59) < age < timedelta(minutes=61)
    await stream.write(b"GET / HTTP/1.1\r\n\r\n")
    assert await stream.read() == b""  # requests are served at the address of the cluster
    await stream.close()


async def test_nothing_else_answers(make: Make) -> None:
    api, way = await one(make)
    await api.tenant.join(NodeSettings("w"))
    await api.wait(2)
    await api.create("/api/v1/namespaces/default/pods", pod("web", nodeName="w"))
    await api.wait(2)
    for namespace, name, port in (
        ("kube-system", "kube-scheduler-a", 10259),
        ("kube-system", "etcd-a", 2380),
        ("default", "web", 2379),
    ):
        stream = await way.dial(namespace, name, port)
        with pytest.raises(ForwardFailed, match=f"127.0.0.1:{port}: connect: connection refused"):
            await stream.read()
        await stream.close()


async def test_a_pod_that_does_not_run_has_no_ports(make: Make) -> None:
    api, way = await one(make)
    await api.create("/api/v1/namespaces/default/pods", pod("web", nodeName="a"))
    stream = await way.dial("default", "web", 80)
    with pytest.raises(ForwardFailed, match="container not running"):
        await stream.read()
    await stream.close()


@pytest.mark.parametrize(
    ("fault", "words", "seconds"),
    [
        (Fault.KUBELET_DEAD, "connect: connection refused", 0),
        (Fault.NETWORK_GONE, "gave no stream within 10 s", 10),
    ],
)
async def test_a_node_that_is_silent_has_no_ports(make: Make, fault: Fault, words: str, seconds: float) -> None:
    api, way = await one(make)
    api.tenant.fail("a", fault)
    began = asyncio.get_running_loop().time()
    with pytest.raises(Exception, match=words):
        await way.dial("kube-system", "etcd-a", 2379)
    assert asyncio.get_running_loop().time() - began == pytest.approx(seconds)


async def test_a_machine_that_has_gone_has_no_ports(make: Make) -> None:
    api, way = await one(make)
    await api.tenant.leave("a")
    with pytest.raises(ApiError, match=r"error dialing backend: dial tcp .* no route to host"):
        await way.dial("kube-system", "etcd-a", 2379)


async def test_nodes_that_somebody_made_by_hand_cannot_be_found(make: Make) -> None:
    api, way = await one(make)
    await api.create("/api/v1/namespaces/default/pods", pod("web", nodeName="imagined"))
    with pytest.raises(ApiError, match="lookup imagined: no such host"):
        await way.dial("default", "web", 80)
