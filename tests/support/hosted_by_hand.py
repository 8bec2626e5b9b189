"""A hosted control plane without any controller: etcd, kube-apiserver, kube-controller-manager and kube-scheduler.

Started by hand from the binaries, with a PKI of Nagaya's and kubeadm's names in it, so that tests of what comes after
(the set-up of the tenant, a machine that joins) need none of what comes before. It ends with its context.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.binaries.installer import Binaries
from nagaya.controlplane.hosted.tenant.keeper import Keeper
from nagaya.controlplane.hosted.tenant.setup import TenantSetup
from nagaya.kube import kubeconfig as connections
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError
from nagaya.kube.http import HttpTransport
from nagaya.kube.transport import NoAnswer
from nagaya.pki import certificates, keys, kubeconfig
from nagaya.pki.authority import CertificateAuthority
from nagaya.pki.certificates import CertificateSpec
from nagaya.pki.keys import KeyAlgorithm
from nagaya.pki.usages import Usage
from nagaya.world import World
from support.ports import free_ports
from support.real_processes import Processes
from support.tenant_kubectl import TenantKubectl

PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
SECRETS = Kind("", "v1", "Secret", "secrets", Untyped)
READY_TIMEOUT = 120.0
_PAUSE = 0.05
_SERVICES = "10.96.0.0/16"


class HostedByHand:
    """One tenant, served at an address of this host."""

    def __init__(self, binaries: Binaries, address: str = "127.0.0.1", *, components: bool = True) -> None:
        """Without `components` it is the API server and its etcd alone."""
        self._binaries = binaries
        self._address = address
        self._components = components
        self.world = World()
        self.processes = Processes("nagaya-hosted-")
        self.folder = self.processes.folder
        self.authority = CertificateAuthority.create("kubernetes", self.world.clock)
        self.port = 0
        self.client: Client
        self.setup: TenantSetup

    @property
    def endpoint(self) -> str:
        """Host and port of the API server."""
        return f"{self._address}:{self.port}"

    @property
    def admin(self) -> Path:
        """The kubeconfig of an administrator by group system:masters, who needs no set-up."""
        return self.folder / "super-admin.conf"

    @property
    def pin(self) -> str:
        """What recognises the authority in `kubeadm join`."""
        return certificates.public_key_pin(self.authority.certificate)

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            self.processes.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()
        self.processes.close()

    async def set_up(self, setup: TenantSetup | None = None) -> None:
        """Apply everything that a machine needs to join."""
        async with self.keeper() as keeper:
            await keeper.synced()
            outcome = await keeper.ensure(setup or self.setup)
        assert outcome.complete, outcome.problems

    @contextlib.asynccontextmanager
    async def keeper(self) -> AsyncIterator[Keeper]:
        """A keeper of this tenant's objects."""
        keeper = Keeper("by-hand", self.client, self.world, lambda: None)
        try:
            yield keeper
        finally:
            await keeper.close()

    async def bootstrap_token(self) -> str:
        """A new token that a machine may join with."""
        identity, secret = secrets.token_hex(3), secrets.token_hex(8)
        expiry = self.world.clock.now() + timedelta(minutes=15)
        data = {
            "token-id": identity,
            "token-secret": secret,
            "expiration": expiry.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "usage-bootstrap-authentication": "true",
            "usage-bootstrap-signing": "true",
            "auth-extra-groups": "system:bootstrappers:kubeadm:default-node-token",
        }
        metadata = {"name": f"bootstrap-token-{identity}", "namespace": "kube-system"}
        content = {"metadata": metadata, "type": "bootstrap.kubernetes.io/token", "stringData": data}
        await self.client.create(SECRETS, content)
        return f"{identity}.{secret}"

    async def kubectl(self, *words: str) -> str:
        """What kubectl says; fails the test if it fails."""
        return await TenantKubectl(self._binaries.path("kubectl"), self.admin)(*words)

    async def objects(self, *words: str) -> list[dict[str, Any]]:
        """What `kubectl get` finds."""
        return await TenantKubectl(self._binaries.path("kubectl"), self.admin).objects(*words)

    async def _start(self) -> None:
        self.port, etcd, peer, manager, scheduler = free_ports(5)
        self._write_certificates()
        self._write_kubeconfigs()
        connection = connections.load(self.admin)
        self.client = Client(HttpTransport(connection, world=self.world), world=self.world)
        self.processes.start("etcd", self._etcd(etcd, peer))
        self.processes.start("kube-apiserver", self._api_server(etcd))
        await self._ready()
        if self._components:
            self.processes.start("kube-controller-manager", self._controller_manager(manager))
            self.processes.start("kube-scheduler", self._scheduler(scheduler))
        self.setup = TenantSetup(
            cluster_name="by-hand",
            version=self._binaries.release.kubernetes,
            endpoint=self.endpoint,
            authority=self.authority.certificate_pem,
            service_cidrs=(_SERVICES,),
        )

    async def _ready(self) -> None:
        answer = "no answer"
        try:
            async with asyncio.timeout(READY_TIMEOUT):
                while True:
                    try:
                        await self.client.raw("GET", "/readyz", timeout=5)
                        # They are made a moment after the server calls itself ready.
                        for name in ("kube-system", "kube-public", "kube-node-lease"):
                            await self.client.raw("GET", f"/api/v1/namespaces/{name}")
                        return
                    except (ApiError, NoAnswer) as error:
                        answer = str(error)
                    ended = self.processes.ended()
                    assert ended is None, f"{ended} ended.\n{self.processes.tails()}"
                    await asyncio.sleep(_PAUSE)
        except TimeoutError:
            raise AssertionError(f"not ready: {answer}\n{self.processes.tails()}") from None

    def _write(self, name: str, content: bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.touch(0o600)
        path.write_bytes(content)
        return path

    def _issue(self, spec: CertificateSpec, authority: CertificateAuthority | None = None) -> tuple[bytes, bytes]:
        certificate, key = (authority or self.authority).issue_pair(spec, self.world.clock)
        return certificates.to_pem(certificate), keys.to_pem(key)

    def _write_pair(self, name: str, pair: tuple[bytes, bytes]) -> None:
        self._write(f"{name}.crt", pair[0])
        self._write(f"{name}.key", pair[1])

    def _write_certificates(self) -> None:
        self._write_pair("ca", (self.authority.certificate_pem, self.authority.key_pem))
        names = ("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
        addresses = (self._address, "127.0.0.1", "10.96.0.1")
        server = CertificateSpec("kube-apiserver", (), (Usage.SERVER_AUTH,), names, tuple(dict.fromkeys(addresses)))
        self._write_pair("apiserver", self._issue(server))
        self._write_pair("apiserver-kubelet-client", self._issue(CertificateSpec("kube-apiserver-kubelet-client")))
        front = CertificateAuthority.create("front-proxy-ca", self.world.clock)
        self._write("front-proxy-ca.crt", front.certificate_pem)
        self._write_pair("front-proxy-client", self._issue(CertificateSpec("front-proxy-client"), front))
        self._write("sa.key", keys.to_pem(keys.generate(KeyAlgorithm.RSA_2048)))

    def _write_kubeconfigs(self) -> None:
        for file, spec in {
            "super-admin": CertificateSpec("kubernetes-super-admin", ("system:masters",)),
            "admin": CertificateSpec("kubernetes-admin", ("kubeadm:cluster-admins",)),
            "controller-manager": CertificateSpec("system:kube-controller-manager"),
            "scheduler": CertificateSpec("system:kube-scheduler"),
        }.items():
            credentials = kubeconfig.ClientCertificate(*self._issue(spec))
            content = kubeconfig.build(f"https://{self.endpoint}", self.authority.certificate_pem, credentials)
            kubeconfig.write(content, self.folder / f"{file}.conf")

    def _etcd(self, port: int, peer: int) -> Sequence[str | Path]:
        return [
            self._binaries.path("etcd"),
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls=http://127.0.0.1:{port}",
            f"--advertise-client-urls=http://127.0.0.1:{port}",
            f"--listen-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
            f"--initial-cluster=default=http://127.0.0.1:{peer}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _api_server(self, etcd: int) -> Sequence[str | Path]:
        file = self.folder
        loopback = self._address == "127.0.0.1"
        return [
            self._binaries.path("kube-apiserver"),
            f"--etcd-servers=http://127.0.0.1:{etcd}",
            f"--bind-address={self._address}",
            # A loopback address may not stand in the endpoints of Service default/kubernetes.
            *(["--endpoint-reconciler-type=none"] if loopback else [f"--advertise-address={self._address}"]),
            f"--secure-port={self.port}",
            f"--tls-cert-file={file / 'apiserver.crt'}",
            f"--tls-private-key-file={file / 'apiserver.key'}",
            f"--client-ca-file={file / 'ca.crt'}",
            f"--kubelet-client-certificate={file / 'apiserver-kubelet-client.crt'}",
            f"--kubelet-client-key={file / 'apiserver-kubelet-client.key'}",
            "--kubelet-preferred-address-types=InternalIP,Hostname",
            f"--requestheader-client-ca-file={file / 'front-proxy-ca.crt'}",
            f"--proxy-client-cert-file={file / 'front-proxy-client.crt'}",
            f"--proxy-client-key-file={file / 'front-proxy-client.key'}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-username-headers=X-Remote-User",
            "--allow-privileged=true",
            "--enable-bootstrap-token-auth",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--service-cluster-ip-range={_SERVICES}",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={file / 'sa.key'}",
            f"--service-account-signing-key-file={file / 'sa.key'}",
        ]

    def _controller_manager(self, port: int) -> Sequence[str | Path]:
        file = self.folder
        return [
            self._binaries.path("kube-controller-manager"),
            *self._as("controller-manager", port),
            "--controllers=*,bootstrap-signer-controller,token-cleaner-controller",
            "--use-service-account-credentials",
            f"--root-ca-file={file / 'ca.crt'}",
            f"--service-account-private-key-file={file / 'sa.key'}",
            f"--cluster-signing-cert-file={file / 'ca.crt'}",
            f"--cluster-signing-key-file={file / 'ca.key'}",
            f"--service-cluster-ip-range={_SERVICES}",
        ]

    def _scheduler(self, port: int) -> Sequence[str | Path]:
        return [self._binaries.path("kube-scheduler"), *self._as("scheduler", port)]

    def _as(self, name: str, port: int) -> Sequence[str]:
        config = self.folder / f"{name}.conf"
        return [
            f"--kubeconfig={config}",
            f"--authentication-kubeconfig={config}",
            f"--authorization-kubeconfig={config}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={self.folder / name}",
            "--leader-elect=false",
        ]

    def with_pods(self, *cidrs: str) -> TenantSetup:
        """The set-up of this tenant with networks for pods."""
        return replace(self.setup, pod_cidrs=cidrs)
