"""`kubeadm join` of a kubelet that is data: whom it trusts, what it asks for, and how it is refused.

The API server here is a few answers over TLS; the real one is asked in tests/real/test_demo.py.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ssl
import tempfile
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import yaml
from aiohttp import web

from nagaya.pki import certificates, keys, requests
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec, to_pem
from nagaya.pki.usages import Usage
from nagaya.simulators.kubelet.joining import join
from nagaya.simulators.tenant.boot_data import KubeadmBoot
from nagaya.simulators.tenant.joining import JoinDelayed, JoinRefused
from nagaya.world import World

TOKEN = "abcdef.0123456789abcdef"


@dataclass
class Cluster:
    """An API server that knows one token, and signs what it is asked to."""

    authority: CertificateAuthority
    endpoint: str = ""
    signs_with: str = TOKEN
    accepts: str = TOKEN
    denies: bool = False
    asked: dict[str, Any] = field(default_factory=dict)

    @property
    def pin(self) -> str:
        return f"sha256:{certificates.public_key_pin(self.authority.certificate).removeprefix('sha256:')}"

    def info(self) -> dict[str, Any]:
        authority = base64.b64encode(to_pem(self.authority.certificate)).decode()
        cluster = {"server": f"https://{self.endpoint}", "certificate-authority-data": authority}
        content = yaml.safe_dump({"clusters": [{"name": "", "cluster": cluster}]})
        name, _, secret = self.signs_with.partition(".")
        header = _encoded(b'{"alg":"HS256","kid":"abcdef"}')
        signature = hmac.new(secret.encode(), f"{header}.{_encoded(content.encode())}".encode(), hashlib.sha256)
        return {"data": {"kubeconfig": content, f"jws-kubeconfig-{name}": f"{header}..{_encoded(signature.digest())}"}}

    async def answer(self, request: web.Request) -> web.Response:
        if request.path.endswith("/cluster-info"):
            return web.json_response(self.info())
        if request.headers.get("Authorization") != f"Bearer {self.accepts}":
            return web.json_response({"message": "Unauthorized"}, status=401)
        if request.method == "POST":
            self.asked = await request.json()
            return web.json_response(self.asked, status=201)
        return web.json_response({**self.asked, "status": self.status()})

    def status(self) -> dict[str, Any]:
        if self.denies:
            return {"conditions": [{"type": "Denied", "status": "True"}]}
        asked = requests.parse(base64.b64decode(self.asked["spec"]["request"]))
        spec = CertificateSpec(asked.common_name, tuple(asked.organizations))
        certificate = self.authority.issue(spec, asked.public_key, World().clock)
        return {"certificate": base64.b64encode(to_pem(certificate)).decode()}


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def boot(token: str = TOKEN, *pins: str) -> KubeadmBoot:
    return KubeadmBoot(initializes=False, control_plane=False, token=token, authority_pins=pins)


@pytest.fixture
async def cluster() -> AsyncIterator[Cluster]:
    clock = World().clock
    made = Cluster(CertificateAuthority.create("kubernetes", clock))
    spec = CertificateSpec("kube-apiserver", (), (Usage.SERVER_AUTH,), (), ("127.0.0.1",))
    certificate, key = made.authority.issue_pair(spec, clock)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    with tempfile.NamedTemporaryFile() as pair:
        pair.write(to_pem(certificate) + keys.to_pem(key))
        pair.flush()
        context.load_cert_chain(pair.name)
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", made.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    made.endpoint = f"127.0.0.1:{runner.addresses[0][1]}"
    yield made
    await runner.cleanup()


async def test_it_gets_a_certificate_for_its_token(cluster: Cluster) -> None:
    found = await join(cluster.endpoint, boot(TOKEN, cluster.pin), "worker-1", World())
    (certificate,) = certificates.load(found.certificate)
    assert "CN=system:node:worker-1" in certificate.subject.rfc4514_string()
    assert cluster.asked["spec"]["signerName"] == "kubernetes.io/kube-apiserver-client-kubelet"
    assert found.authority == to_pem(cluster.authority.certificate)
    assert b"PRIVATE KEY" not in repr(found).encode()


async def test_it_does_not_trust_a_cluster_with_another_authority(cluster: Cluster) -> None:
    with pytest.raises(JoinRefused, match="none of the hashes"):
        await join(cluster.endpoint, boot(TOKEN, f"sha256:{'0' * 64}"), "worker-1", World())


async def test_it_does_not_trust_a_cluster_that_does_not_know_its_token(cluster: Cluster) -> None:
    cluster.signs_with = "abcdef.ffffffffffffffff"
    with pytest.raises(JoinRefused, match="not signed by token abcdef"):
        await join(cluster.endpoint, boot(), "worker-1", World())
    cluster.signs_with = "other1.0123456789abcdef"
    with pytest.raises(JoinDelayed, match="has no signature by the token abcdef yet"):
        await join(cluster.endpoint, boot(), "worker-1", World())


async def test_a_token_that_is_not_accepted_is_named_by_its_public_half(cluster: Cluster) -> None:
    cluster.accepts = "other"
    with pytest.raises(JoinRefused, match="bootstrap token abcdef is not accepted") as caught:
        await join(cluster.endpoint, boot(), "worker-1", World())
    assert "0123456789abcdef" not in str(caught.value)


async def test_a_certificate_that_is_denied_is_a_refusal(cluster: Cluster) -> None:
    cluster.denies = True
    with pytest.raises(JoinRefused, match="denied"):
        await join(cluster.endpoint, boot(), "worker-1", World())


async def test_a_cluster_that_does_not_answer_may_do_so_later(cluster: Cluster) -> None:
    with pytest.raises(OSError, match="connect"):
        await join("127.0.0.1:1", boot(), "worker-1", World())
