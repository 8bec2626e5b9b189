"""A real kube-apiserver with its etcd, for tests that must know what the real thing does.

Each control plane is alone: a temporary folder, loopback ports of its own, certificates of its own. That makes it
safe under pytest-xdist, where every worker has one. Leaving the context kills the processes and removes the folder,
and so does a start that fails, after the last words of the logs went into the exception.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest
import yaml

from nagaya.binaries.errors import BinariesError
from nagaya.binaries.installer import Binaries, Installer
from nagaya.binaries.programs import EXTRAS
from nagaya.binaries.releases import DEFAULT_VERSION
from support.ports import free_ports
from support.real_certificates import Authority, Pair, service_account_key
from support.real_processes import Processes

CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kubectl")

CONTROLLERS = (
    "bootstrap-signer-controller",
    "certificatesigningrequest-approving-controller",
    "certificatesigningrequest-cleaner-controller",
    "certificatesigningrequest-signing-controller",
    "clusterrole-aggregation-controller",
    "garbage-collector-controller",
    "namespace-controller",
    "root-ca-certificate-publisher-controller",
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "token-cleaner-controller",
    "ttl-after-finished-controller",
    "ttl-controller",
)
"""The controllers whose work the embedded API server does itself; none that would make pods."""

USERS: dict[str, tuple[str, ...]] = {
    "admin-by-token": ("system:masters",),
    "alice": ("developers",),
    "bob": (),
    "system:node:node-1": ("system:nodes",),
}
"""Users with a static token (`RealControlPlane.tokens`) and their groups."""

START_TIMEOUT = 120.0
_ATTEMPTS = 5
_PORT_TAKEN = "address already in use"


class StartFailed(Exception):
    """The control plane did not get ready; the message has the last lines of the logs."""


class RealControlPlane:
    """etcd, kube-apiserver and, if controllers are named, kube-controller-manager."""

    def __init__(
        self,
        binaries: Binaries,
        *,
        controllers: Sequence[str] = (),
        durable: bool = False,
        arguments: Sequence[str] = (),
    ) -> None:
        """`durable` lets etcd sync its disk, for benchmarks; `arguments` are more flags for kube-apiserver."""
        self._binaries = binaries
        self._controllers = tuple(controllers)
        self._durable = durable
        self._arguments = tuple(arguments)
        self._processes: Processes | None = None
        self._authority: Authority
        self.folder: Path
        self.url: str
        self.etcd_url: str
        self.ca_file: Path
        self.kubeconfig: Path
        """Of a user in system:masters, by client certificate."""
        self.tokens = {user: f"{user.replace(':', '-')}-token" for user in USERS}
        self.ready_after: float
        """Seconds from the start to /readyz, kube-controller-manager included."""

    @property
    def version(self) -> str:
        """The Kubernetes version that is running."""
        return self._binaries.release.kubernetes

    @property
    def kubectl(self) -> Path:
        """A kubectl of the same version."""
        return self._binaries.path("kubectl")

    @property
    def pids(self) -> dict[str, int]:
        """The process of each program, for those who measure."""
        assert self._processes is not None
        return self._processes.pids

    def log(self, name: str) -> str:
        """What a program has said so far."""
        assert self._processes is not None
        return self._processes.log(name).read_text(errors="replace")

    def client_certificate(self, user: str, groups: Sequence[str] = ()) -> tuple[Path, Path]:
        """Files with a certificate and a key that make whoever shows them this user."""
        stem = f"client-{user.replace(':', '-').replace('/', '-')}"
        return self._write_pair(stem, self._authority.client(user, groups))

    def ssl_context(self, certificate: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        """TLS that trusts this server; as nobody (for tokens), or as the owner of a certificate."""
        context = ssl.create_default_context(cafile=self.ca_file)
        if certificate is not None:
            context.load_cert_chain(*certificate)
        return context

    def admin_ssl_context(self) -> ssl.SSLContext:
        """TLS as the administrator."""
        return self.ssl_context((self.folder / "admin.crt", self.folder / "admin.key"))

    def __enter__(self) -> Self:
        began = time.monotonic()
        self._processes = Processes("nagaya-real-")
        try:
            self.folder = self._processes.folder
            for attempt in range(1, _ATTEMPTS + 1):
                try:
                    self._start(self._processes)
                    break
                except StartFailed as failure:
                    if attempt == _ATTEMPTS or _PORT_TAKEN not in str(failure):
                        raise
                    self._processes.end_all()
        except BaseException:
            self._processes.close()
            raise
        self.ready_after = time.monotonic() - began
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._processes is not None
        self._processes.close()

    def _start(self, processes: Processes) -> None:
        etcd_port, peer_port, api_port, manager_port = free_ports(4)
        self.etcd_url = f"http://127.0.0.1:{etcd_port}"
        self.url = f"https://127.0.0.1:{api_port}"
        with ThreadPoolExecutor(1) as pool:
            # The slowest key is made while etcd starts.
            key = pool.submit(service_account_key)
            processes.start("etcd", self._etcd(peer_port, processes.folder / f"etcd-{etcd_port}"))
            self._write_credentials()
            (self.folder / "service-accounts.key").write_bytes(key.result())
        processes.start("kube-apiserver", self._api_server(api_port))
        self._await("kube-apiserver", api_port, "/readyz")
        if self._controllers:
            processes.start("kube-controller-manager", self._controller_manager(manager_port))
            self._await("kube-controller-manager", manager_port, "/healthz")
            self._await_namespaces(api_port)

    def _write_credentials(self) -> None:
        self._authority = Authority("nagaya-real-ca")
        self.ca_file, _ = self._write_pair("ca", self._authority.pair)
        hosts = ("127.0.0.1", "localhost", "10.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
        self._write_pair("server", self._authority.server("kube-apiserver", hosts))
        self._write_pair("admin", self._authority.client("kubernetes-admin", ("system:masters",)))
        lines = [f'{self.tokens[user]},{user},{user}-uid,"{",".join(groups)}"\n' for user, groups in USERS.items()]
        (self.folder / "tokens.csv").write_text("".join(lines))
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self.kubeconfig.touch(0o600)
        self.kubeconfig.write_text(yaml.safe_dump(self._kubeconfig()))

    def _kubeconfig(self) -> dict[str, object]:
        files = {"client-certificate": str(self.folder / "admin.crt"), "client-key": str(self.folder / "admin.key")}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "real", "cluster": {"server": self.url, "certificate-authority": str(self.ca_file)}}],
            "users": [{"name": "admin", "user": files}],
            "contexts": [{"name": "real", "context": {"cluster": "real", "user": "admin"}}],
            "current-context": "real",
        }

    def _write_pair(self, stem: str, pair: Pair) -> tuple[Path, Path]:
        certificate, key = self.folder / f"{stem}.crt", self.folder / f"{stem}.key"
        certificate.write_bytes(pair.certificate)
        key.touch(0o600)
        key.write_bytes(pair.key)
        return certificate, key

    def _etcd(self, peer_port: int, data: Path) -> list[str | Path]:
        peer_url = f"http://127.0.0.1:{peer_port}"
        command: list[str | Path] = [self._binaries.path("etcd"), f"--data-dir={data}", "--name=real"]
        command += [f"--listen-client-urls={self.etcd_url}", f"--advertise-client-urls={self.etcd_url}"]
        command += [f"--listen-peer-urls={peer_url}", f"--initial-advertise-peer-urls={peer_url}"]
        command += [f"--initial-cluster=real={peer_url}", "--log-level=warn"]
        if not self._durable:
            command.append("--unsafe-no-fsync")
        return command

    def _api_server(self, port: int) -> list[str | Path]:
        file = self.folder
        return [
            self._binaries.path("kube-apiserver"),
            f"--etcd-servers={self.etcd_url}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={file / 'server.crt'}",
            f"--tls-private-key-file={file / 'server.key'}",
            f"--client-ca-file={file / 'ca.crt'}",
            f"--token-auth-file={file / 'tokens.csv'}",
            "--enable-bootstrap-token-auth",
            "--authorization-mode=Node,RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={file / 'service-accounts.key'}",
            f"--service-account-signing-key-file={file / 'service-accounts.key'}",
            # A loopback address may not stand in the endpoints of Service default/kubernetes.
            "--endpoint-reconciler-type=none",
            *self._arguments,
        ]

    def _controller_manager(self, port: int) -> list[str | Path]:
        file = self.folder
        return [
            self._binaries.path("kube-controller-manager"),
            f"--controllers={','.join(self._controllers)}",
            f"--kubeconfig={self.kubeconfig}",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--tls-cert-file={file / 'server.crt'}",
            f"--tls-private-key-file={file / 'server.key'}",
            "--leader-elect=false",
            "--use-service-account-credentials=false",
            f"--root-ca-file={file / 'ca.crt'}",
            f"--service-account-private-key-file={file / 'service-accounts.key'}",
            f"--cluster-signing-cert-file={file / 'ca.crt'}",
            f"--cluster-signing-key-file={file / 'ca.key'}",
        ]

    def _await_namespaces(self, api_port: int) -> None:
        """Wait for what the controllers put into every namespace, so that tests need not."""
        for namespace in ("default", "kube-node-lease", "kube-public", "kube-system"):
            if "serviceaccount-controller" in self._controllers:
                path = f"/api/v1/namespaces/{namespace}/serviceaccounts/default"
                self._await("serviceaccount-controller", api_port, path)
            if "root-ca-certificate-publisher-controller" in self._controllers:
                path = f"/api/v1/namespaces/{namespace}/configmaps/kube-root-ca.crt"
                self._await("root-ca-certificate-publisher-controller", api_port, path)

    def _await(self, name: str, port: int, path: str) -> None:
        """Ask until the answer is 200."""
        assert self._processes is not None
        context = self.admin_ssl_context()
        deadline = time.monotonic() + START_TIMEOUT
        answer = "no answer"
        while time.monotonic() < deadline:
            code, answer = _probe(port, path, context)
            if code == 200:
                return
            ended = self._processes.ended()
            if ended is not None:
                raise StartFailed(f"{ended} ended before {name} was ready.\n{self._processes.tails()}")
            time.sleep(0.02)
        raise StartFailed(
            f"{name} was not ready after {START_TIMEOUT:.0f} s; {path} said: {answer}\n{self._processes.tails()}"
        )


def _probe(port: int, path: str, context: ssl.SSLContext) -> tuple[int, str]:
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode(errors="replace")
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    finally:
        connection.close()


def installed_binaries(programs: Sequence[str] = CONTROL_PLANE, version: str = DEFAULT_VERSION) -> Binaries:
    """The programs that are on this machine; skips the test, with the reason, when one is missing.

    Tests never download or build: that takes minutes and belongs before them, where its progress is seen.
    """
    try:
        found, missing = Installer().find(version, programs)
    except BinariesError as error:
        pytest.skip(f"real Kubernetes {version} cannot be used: {error}")
    if missing:
        what = f"{', '.join(missing)} of Kubernetes {version}"
        pytest.skip(missing_program(what, f"nagaya kubernetes install --version {version}{_extras_with(missing)}"))
    return found


def missing_program(what: str, command: str = "make kubernetes") -> str:
    """The reason of a skipped test; tools/run_tests.py counts those that begin like this."""
    return f"missing program: {what}. `{command}` provides it."


def _extras_with(missing: Sequence[str]) -> str:
    words = [word for word, names in EXTRAS.items() if set(names) & set(missing)]
    return f" --with {','.join(words)}" if words else ""


@pytest.fixture(scope="session")
def real_control_plane() -> Iterator[RealControlPlane]:
    """One real control plane with its controllers for the whole session, or for each worker of it."""
    with RealControlPlane(installed_binaries(), controllers=CONTROLLERS) as plane:
        yield plane
