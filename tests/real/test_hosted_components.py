"""Real programs started with our command lines and files: they accept every word, and do what it is meant to do."""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from nagaya.api.controlplane.hosted_arguments import (
    ALLOWED,
    KONNECTIVITY_SERVER,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_SCHEDULER,
)
from nagaya.binaries.installer import Binaries
from nagaya.binaries.releases import DEFAULT_VERSION
from nagaya.controlplane.hosted.components import (
    api_server,
    configuration,
    controller_manager,
    etcd,
    kine,
    konnectivity,
    scheduler,
)
from nagaya.controlplane.hosted.components.etcd import EtcdFacts
from nagaya.controlplane.hosted.components.facts import (
    EtcdStore,
    Folders,
    KineStore,
    LocalPorts,
    ServingFacts,
    TenantFacts,
    TunnelFacts,
)
from nagaya.pki import keys
from nagaya.pki.certificates import to_pem
from nagaya.pki.kubeadm import identities, issuing
from nagaya.pki.kubeadm.authorities import AUTHORITIES
from nagaya.pki.kubeadm.inputs import Inputs
from nagaya.pki.kubeadm.leaves import LEAVES
from nagaya.world import SystemClock
from support.ports import free_ports
from support.real import installed_binaries
from support.real_processes import Processes

PROGRAMS = (KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER)
PATIENCE = 120.0
SQLITE_OPTIONS = "_journal=WAL&cache=shared&_busy_timeout=30000&_txlock=immediate"
CLUSTER_INFO = "/api/v1/namespaces/kube-public/configmaps/cluster-info"


class Tenant:
    """etcd, kube-apiserver, kube-controller-manager and kube-scheduler in one folder."""

    def __init__(self, processes: Processes, binaries: Binaries, *, sql: bool) -> None:
        self._processes = processes
        self.folder = processes.folder
        self.port, client, peer, manager, watcher = free_ports(5)
        pki = f"{self.folder}/pki"
        in_etcd = EtcdStore(
            (f"https://127.0.0.1:{client}",),
            "/tenant-one",
            f"{pki}/etcd/ca.crt",
            f"{pki}/apiserver-etcd-client.crt",
            f"{pki}/apiserver-etcd-client.key",
        )
        in_sql = KineStore(f"{self.folder}/kine.sock", f"sqlite://{self.folder}/one.db?{SQLITE_OPTIONS}")
        self.facts = TenantFacts(
            cluster_name="one",
            version=binaries.release.kubernetes,
            serving=ServingFacts("127.0.0.1", "127.0.0.1", self.port),
            store=in_sql if sql else in_etcd,
            folders=Folders(pki, str(self.folder), f"{self.folder}/configuration", "", f"{self.folder}/logs", ""),
            ports=LocalPorts("127.0.0.1", manager, watcher),
            tunnel=TunnelFacts(f"{self.folder}/tunnel.sock", "127.0.0.1"),
            elected=False,
        )
        self._write()
        if sql:
            secrets = [f"{name}={value}" for name, value in kine.environment(in_sql).items()]
            processes.start("kine", ["env", *secrets, binaries.path("kine"), *kine.arguments(in_sql)])
        else:
            member = EtcdFacts("one", f"{self.folder}/etcd", pki, client, peer)
            processes.start("etcd", [binaries.path("etcd"), *etcd.arguments(member), "--log-level=warn"])
        self._start(binaries, KUBE_APISERVER, api_server.arguments(self.facts))
        self.await_answer("/readyz", "ok")
        # It makes them itself, but is ready before it has.
        for namespace in ("default", "kube-public"):
            self.await_answer(f"/api/v1/namespaces/{namespace}", '"Active"')
        self._start(binaries, KUBE_CONTROLLER_MANAGER, controller_manager.arguments(self.facts))
        self._start(binaries, KUBE_SCHEDULER, scheduler.arguments(self.facts))

    def _start(self, binaries: Binaries, program: str, arguments: tuple[str, ...]) -> None:
        self._processes.start(program, [binaries.path(program), *arguments])

    def start_tunnel(self, binaries: Binaries, tunnel: TunnelFacts) -> None:
        self._start(binaries, KONNECTIVITY_SERVER, konnectivity.arguments(tunnel, self.facts.folders))

    def _write(self) -> None:
        inputs = Inputs(node_name="one", advertise_address="127.0.0.1", service_cidrs=self.facts.network.service_cidrs)
        clock, pki = SystemClock(), self.folder / "pki"
        (pki / "etcd").mkdir(parents=True)
        (self.folder / "logs").mkdir()
        signers = {}
        for authority in AUTHORITIES:
            signer = issuing.new_authority(authority, inputs, keys.generate(), clock)
            signers[authority] = signer
            (pki / f"{authority.name}.crt").write_bytes(signer.certificate_pem)
            (pki / f"{authority.name}.key").write_bytes(signer.key_pem)
        for leaf in LEAVES:
            pair = issuing.new_leaf(leaf, signers[leaf.authority], inputs, keys.generate(), clock)
            (pki / f"{leaf.name}.crt").write_bytes(pair.certificate)
            (pki / f"{leaf.name}.key").write_bytes(pair.key)
        accounts = keys.generate()
        (pki / "sa.key").write_bytes(keys.to_pem(accounts))
        (pki / "sa.pub").write_bytes(keys.public_to_pem(accounts.public_key()))
        server = f"https://127.0.0.1:{self.port}"
        local = (identities.CONTROLLER_MANAGER, identities.SCHEDULER, identities.KONNECTIVITY_SERVER)
        for identity in local:
            cluster = signers[AUTHORITIES[0]]
            made = issuing.new_kubeconfig(identity, cluster, server, inputs, keys.generate(), clock)
            (self.folder / identity.file).write_bytes(made)
        (self.folder / "configuration").mkdir()
        for name, content in configuration.files(self.facts).items():
            (self.folder / "configuration" / name).write_text(content)
        admin = keys.generate()
        pair = signers[AUTHORITIES[0]].issue(identities.SUPER_ADMIN.spec(), admin.public_key(), clock)
        (self.folder / "admin.pem").write_bytes(to_pem(pair) + keys.to_pem(admin))

    def ask(self, path: str, method: str = "GET", body: Any = None, *, anonymous: bool = False) -> tuple[int, str]:
        context = ssl.create_default_context(cafile=self.folder / "pki/ca.crt")
        if not anonymous:
            context.load_cert_chain(self.folder / "admin.pem")
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=context)
        try:
            content = None if body is None else json.dumps(body)
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def is_open(self, path: str) -> bool:
        """Whether nobody in particular may ask for it."""
        return self.ask(path, anonymous=True)[0] == 200

    def await_answer(self, path: str, wanted: str) -> None:
        said = ""

        def answered() -> bool:
            nonlocal said
            try:
                _, said = self.ask(path)
            except OSError as error:
                said = str(error)
            return wanted in said

        self.until(answered, lambda: f"{path} said {said}, not {wanted}")

    def until(self, look: Callable[[], bool], told: Callable[[], str]) -> None:
        """Wait for something that programs do when they come to it."""
        deadline = time.monotonic() + PATIENCE
        while not look():
            ended = self._processes.ended()
            assert ended is None, f"{ended} ended:\n{self._processes.tails()}"
            if time.monotonic() > deadline:
                pytest.fail(f"{told()}\n{self._processes.tails()}")
            time.sleep(0.05)

    def create(self, path: str, content: dict[str, Any]) -> None:
        """Create an object, unless it is there."""
        status, said = self.ask(path, "POST", content)
        assert status in (201, 409), said

    def etcd_keys(self) -> list[dict[str, str]]:
        """All keys of the etcd, by its JSON gateway."""
        assert isinstance(self.facts.store, EtcdStore)
        context = ssl.create_default_context(cafile=self.facts.store.ca_file)
        context.load_cert_chain(self.facts.store.certificate_file, self.facts.store.key_file)
        place = self.facts.store.servers[0].removeprefix("https://")
        connection = http.client.HTTPSConnection(place, timeout=60, context=context)
        try:
            everything = {"key": "AA==", "range_end": "AA==", "keys_only": True}
            connection.request("POST", "/v3/kv/range", json.dumps(everything))
            found: list[dict[str, str]] = json.loads(connection.getresponse().read())["kvs"]
        finally:
            connection.close()
        return found

    def log(self, program: str) -> str:
        return self._processes.log(program).read_text()


ON_ETCD = [("etcd", "v1.36.3"), ("etcd", "v1.35.4")]
ON_SQL = [("kine", "v1.36.3")]


@pytest.fixture(scope="module", params=ON_ETCD + ON_SQL, ids="-".join)
def tenant(request: pytest.FixtureRequest) -> Iterator[Tenant]:
    store, version = request.param
    binaries = installed_binaries((store, *PROGRAMS), version)
    processes = Processes("nagaya-hosted-")
    try:
        yield Tenant(processes, binaries, sql=store == "kine")
    finally:
        processes.close()


@pytest.mark.long("starts all programs of a real control plane")
def test_the_api_and_its_controllers_work(tenant: Tenant) -> None:
    tenant.await_answer("/api/v1/namespaces/default/configmaps/kube-root-ca.crt", "BEGIN CERTIFICATE")
    tenant.await_answer("/api/v1/namespaces/default/serviceaccounts/default", '"uid"')


def test_the_tunnels_server_starts_beside_it(tenant: Tenant) -> None:
    tunnel = tenant.facts.tunnel
    assert tunnel is not None
    agent, admin, health = free_ports(3)
    tunnel = replace(tunnel, agent_port=agent, admin_port=admin, health_port=health)
    tenant.start_tunnel(installed_binaries((KONNECTIVITY_SERVER,)), tunnel)
    said = ""

    def answered() -> bool:
        nonlocal said
        connection = http.client.HTTPConnection("127.0.0.1", tunnel.health_port, timeout=60)
        try:
            connection.request("GET", "/healthz")
            said = connection.getresponse().read().decode()
        except OSError as error:
            said = str(error)
        finally:
            connection.close()
        return said == "ok"

    tenant.until(answered, lambda: f"it said {said}")
    assert Path(tunnel.socket).is_socket()


def test_nobody_is_anonymous_but_for_health_and_for_joining(tenant: Tenant) -> None:
    content = {"metadata": {"name": "cluster-info"}, "data": {"kubeconfig": "x"}}
    tenant.create("/api/v1/namespaces/kube-public/configmaps", content)
    group = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-public"
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["cluster-info"], "verbs": ["get"]}
    tenant.create(f"{group}/roles", {"metadata": {"name": "info"}, "rules": [rule]})
    binding = {
        "metadata": {"name": "info"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "info"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:anonymous"}],
    }
    tenant.create(f"{group}/rolebindings", binding)

    # It takes a moment until the API server knows of the roles, those that it makes itself included.
    for path in configuration.ANONYMOUS_PATHS:
        tenant.until(partial(tenant.is_open, path), partial(str, path))
    tenant.until(partial(tenant.is_open, f"{CLUSTER_INFO}?timeout=10s"), partial(str, CLUSTER_INFO))
    for path in ("/api", "/version", "/metrics", "/api/v1/namespaces/kube-public/configmaps", "/livez/ping"):
        assert tenant.ask(path, anonymous=True)[0] == 401, path


def test_changes_are_audited_without_their_content(tenant: Tenant) -> None:
    secret = {"metadata": {"name": "quiet"}, "stringData": {"password": "hunter2-canary"}}
    tenant.create("/api/v1/namespaces/default/secrets", secret)
    log = tenant.folder / "logs" / api_server.AUDIT_LOG
    noted: list[dict[str, Any]] = []

    def is_noted() -> bool:
        # The last line may be half of one.
        noted[:] = [json.loads(line) for line in log.read_text().splitlines(keepends=True) if line.endswith("\n")]
        return any(each["verb"] == "create" and each.get("objectRef", {}).get("name") == "quiet" for each in noted)

    tenant.until(is_noted, lambda: "the Secret is not in the audit log")
    assert "hunter2-canary" not in log.read_text()
    assert not [each for each in noted if each["requestURI"].startswith("/readyz")]


@pytest.mark.parametrize("tenant", ON_ETCD, indirect=True, ids="-".join)
def test_all_keys_are_below_the_tenants_prefix(tenant: Tenant) -> None:
    found: list[bytes] = []

    def settled() -> bool:
        found[:] = [base64.b64decode(each["key"]) for each in tenant.etcd_keys()]
        return len(found) > 20

    tenant.until(settled, lambda: f"there are only {len(found)} keys")
    assert [key for key in found if not key.startswith(b"/tenant-one/")] == []


@pytest.mark.parametrize("program", [KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER])
def test_nothing_that_is_said_is_outdated(tenant: Tenant, program: str) -> None:
    assert not re.findall(r"^.*\b(?:has been deprecated|DEPRECATED|unknown flag).*$", tenant.log(program), re.MULTILINE)


REVIEWED: dict[str, list[str]] = json.loads(
    (Path(__file__).parents[1] / "unit/api/controlplane/program_flags.json").read_text()
)
_REACHES_OUT = re.compile(r"\b(file|files|path|directory|dir|socket|url|uri|endpoint|address|host)s?\b", re.IGNORECASE)
_HARMLESS = {
    "profiling",  # says where the profile is served: its value is true or false
    "audit-log-compress",  # "rotated log files", whose path Nagaya sets
    "audit-log-format",
    "enable-aggregator-routing",  # "endpoints IP": its value is true or false
    "controllers",  # lists names of controllers, such as endpointslice-controller
    "kube-api-burst",  # of the scheduler: ignored if there is a config file, which cannot be given
    "kube-api-qps",
    "concurrent-endpoint-syncs",
    "concurrent-service-endpoint-syncs",
    "mirroring-concurrent-service-endpoint-syncs",
    "max-endpoints-per-slice",
    "service-account-extend-token-expiration",
}


@pytest.mark.parametrize("program", REVIEWED)
def test_every_flag_of_the_program_has_been_reviewed(program: str) -> None:
    found = _flags(installed_binaries((program,)).path(program))
    assert sorted(ALLOWED[program].keys() - found.keys()) == []
    assert sorted(found.keys() - {*REVIEWED[program]}) == [], "look at them, and allow them only if they are harmless"


@pytest.mark.parametrize("version", [DEFAULT_VERSION, "v1.35.4"])
@pytest.mark.parametrize("program", REVIEWED)
def test_no_flag_that_users_may_give_names_a_file_or_an_address(program: str, version: str) -> None:
    found = _flags(installed_binaries((program,), version).path(program))
    assert sorted(ALLOWED[program].keys() - found.keys()) == []
    suspicious = {name for name in ALLOWED[program] if _REACHES_OUT.search(found[name])} - _HARMLESS
    assert {name: found[name] for name in suspicious} == {}


def _flags(program: Path) -> dict[str, str]:
    """The flags of a program, each with its type and its help."""
    said = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=60, check=True).stdout
    found = re.finditer(r"^ +(?:-\w, )?--([a-z0-9-]+)(.*(?:\n {20,}.*)*)", said, re.MULTILINE)
    return {each[1]: each[2] for each in found}
