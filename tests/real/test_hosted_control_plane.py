"""Hosted control planes as users have them: declared with kubectl, run as processes of this machine.

One management API and one set of controllers for all tests but the last: starting control planes is most of the time.
"""

from __future__ import annotations

import asyncio
import os
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from nagaya.cli.plane import Plane, install
from nagaya.controlplane.hosted.data_store.managed_etcd import ManagedEtcd
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.kube import kubeconfig
from nagaya.kube.etcd.client import EtcdClient, client_tls
from nagaya.kube.etcd.errors import EtcdError
from nagaya.kube.http import HttpTransport
from nagaya.world import World
from support.hosting import PATIENCE, Hosting, Load, Tenant, end_tenants, eventually, manifests, tenant_ports
from support.kept_load import KeptLoad
from support.real import installed_binaries
from support.running_server import RunningServer

pytestmark = pytest.mark.long("starts, exchanges and ends real control planes under load")

PARTS = ("core", "controlplane-hosted")
COMPONENTS = ("kube-apiserver-0", "kube-controller-manager", "kube-scheduler")
OLD = "v1.35.4"


@pytest.fixture(scope="module")
def hosting() -> Iterator[Hosting]:
    installed_binaries(("kube-apiserver", "kube-controller-manager", "kube-scheduler"), OLD)
    with Hosting() as found:
        found.apply(manifests("one"))
        found.apply(manifests("two"))
        yield found


def test_a_cluster_gets_a_real_api_seconds_after_it_was_declared(hosting: Hosting) -> None:
    one = hosting.tenant("one")

    assert one.is_ready()
    assert "kube-system" in hosting.kubectl("get", "namespaces", "-o", "name", tenant=one)
    assert hosting.kubectl("version", "-o", "yaml", tenant=one).count("v1.36.3") >= 2
    eventually(lambda: hosting.holds("one", "TenantConfigured"), "the set-up of the tenant")
    eventually(lambda: hosting.holds("one", "ComponentsReady"), "the components")
    plane = hosting.plane("one")
    assert plane["spec"]["controlPlaneEndpoint"] == {"host": one.address, "port": one.port}
    assert plane["status"]["externalManagedControlPlane"] is True
    assert {each["phase"] for each in plane["status"]["timeline"] if each.get("ended")} >= {"APIServer", "Tenant"}
    cluster = hosting.kubectl("get", "cluster", "one", "-o", "jsonpath={.spec.controlPlaneEndpoint.port}")
    assert cluster == str(one.port)
    # What a machine must know before it joins is signed once there is a token, by the tenant's own controllers.
    assert "kubeadm-config" in hosting.kubectl("get", "configmap", "-n", "kube-system", "-o", "name", tenant=one)


def test_tenants_are_closed_to_each_other(hosting: Hosting) -> None:
    one, two = hosting.tenant("one"), hosting.tenant("two")
    assert one.port != two.port
    stranger = hosting.tenant("one")
    stranger.port = two.port

    status, words = stranger.ask("GET", "/api/v1/namespaces")

    assert status == 0
    assert "CERTIFICATE_VERIFY_FAILED" in words
    tenants = hosting.folder / "hosted" / "tenants"
    assert {each.name for each in tenants.iterdir()} == {one.uid, two.uid}
    for tenant in (one, two):
        user = (tenants / tenant.uid / "run").stat().st_uid
        for path in (tenants / tenant.uid).rglob("*"):
            found = path.stat()
            closed = 0o077 if found.st_gid == 0 else 0o007
            assert found.st_gid in (0, user), path
            assert not stat.S_IMODE(found.st_mode) & closed, path
    assert not stat.S_IMODE((hosting.folder / "hosted").stat().st_mode) & 0o077


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give programs other users")
def test_programs_of_a_tenant_run_as_its_own_user_without_privileges(hosting: Hosting) -> None:
    one, two = hosting.tenant("one"), hosting.tenant("two")
    users = hosting.users()
    assert len({users[one.uid], users[two.uid]}) == 2
    for tenant in (one, two):
        for program, pid in hosting.processes(tenant.uid).items():
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            status = {name: each.split() for name, each in (line.split(":", 1) for line in lines)}
            user = str(users[tenant.uid])
            assert (status["Uid"], status["Gid"], status["Groups"]) == ([user] * 4, [user] * 4, []), program
            assert {status[f"Cap{each}"][0] for each in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {"0" * 16}, program
            assert status["NoNewPrivs"] == ["1"], program
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            assert {each.partition(b"=")[0] for each in environment} <= {b"", b"GOMEMLIMIT", b"KINE_ENDPOINT"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give programs other users")
def test_what_a_tenant_gets_at_from_inside(hosting: Hosting) -> None:
    """A shell as one of its programs would be: in the same namespace, as the same user."""
    one, two = hosting.tenant("one"), hosting.tenant("two")
    hosted, user = hosting.folder / "hosted", hosting.users()[one.uid]
    pid = hosting.processes(one.uid)["kube-apiserver-0"]
    enter = ["nsenter", f"--target={pid}", "--mount", "setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"]

    def attempt(*command: str) -> int:
        return subprocess.run([*enter, *command], capture_output=True, check=False, timeout=60).returncode

    own, other = hosted / "tenants" / one.uid, hosted / "tenants" / two.uid
    assert attempt("cat", f"{own}/pki/ca.crt") == 0
    assert attempt("touch", f"{own}/run/new") == 0
    stores = [each / "data" for each in (hosted / "stores").iterdir()]
    servers = [each / "pki" / "etcd" / "server.key" for each in (hosted / "stores").iterdir()]
    forbidden = [other / "pki/ca.crt", other / "admin.conf", own / "owner.json", hosted / "users.json", *servers]
    for path in [*forbidden, hosting.folder / "kubeconfig", Path(f"/proc/{os.getpid()}/environ")]:
        assert attempt("cat", str(path)), path
    folders = [hosted, hosted / "tenants", hosted / "stores", hosted / "processes", *stores, other, hosting.folder]
    for path in folders:
        assert attempt("ls", str(path)), path
    for path in (own, own / "pki", own / "pki/ca.crt", own / "started.json"):
        assert attempt("test", "-w", str(path)), path
    for stranger in (hosting.processes(two.uid)["kube-apiserver-0"], os.getpid()):
        assert attempt("kill", "-0", str(stranger))
    assert asyncio.run(_keys(hosting, one, of=one)) > 0
    with pytest.raises(EtcdError):
        asyncio.run(_keys(hosting, one, of=two))


def test_a_program_that_is_killed_comes_back(hosting: Hosting) -> None:
    one = hosting.tenant("one")
    eventually(lambda: set(hosting.processes(one.uid)) == set(COMPONENTS), "all programs")
    before = hosting.processes(one.uid)
    store = hosting.kubectl("get", "datastore", "default", "-o", "jsonpath={.metadata.uid}")
    etcd = hosting.processes(store)["etcd"]
    for pid in (*before.values(), etcd):
        os.kill(pid, signal.SIGKILL)

    def back() -> bool:
        after = hosting.processes(one.uid)
        return set(after) == set(COMPONENTS) and not set(after.values()) & set(before.values()) and one.is_ready()

    eventually(back, "all programs, anew")
    eventually(lambda: hosting.holds("one", "ComponentsReady"), "the components")
    assert hosting.processes(store)["etcd"] != etcd
    # The controllers may end once more, by themselves, as long as there is no API.
    assert all(each["restarts"] >= 1 for each in hosting.plane("one")["status"]["components"])
    assert "was killed by SIGKILL" in hosting.kubectl("get", "events")


def test_control_planes_outlive_nagaya(hosting: Hosting) -> None:
    one, two = hosting.tenant("one"), hosting.tenant("two")
    eventually(lambda: set(hosting.processes(two.uid)) == set(COMPONENTS), "all programs")
    before = {uid: hosting.processes(uid) for uid in (one.uid, two.uid)}
    with Load(lambda method, path, body: two.ask(method, path, body)) as load:
        hosting.kill_controllers()
        go_on(load, requests=20)
        os.kill(before[one.uid]["kube-scheduler"], signal.SIGKILL)
        hosting.start_controllers()
        eventually(lambda: "kube-scheduler" in hosting.processes(one.uid), "the scheduler that ended meanwhile")
        eventually(lambda: hosting.holds("one", "ComponentsReady"), "the components")

    assert load.succeeded > 20
    assert load.failed == []
    assert hosting.processes(two.uid) == before[two.uid]
    after = hosting.processes(one.uid)
    assert {**after, "kube-scheduler": 0} == {**before[one.uid], "kube-scheduler": 0}


def test_a_version_that_cannot_be_reached_is_refused_with_the_reason(hosting: Hosting) -> None:
    hosting.tenant("two")

    with pytest.raises(AssertionError, match=r"cannot go back from v1\.36\.3"):
        hosting.kubectl("patch", "hcp", "two", "--type=merge", "-p", '{"spec":{"version":"v1.35.4"}}')


def test_an_upgrade_of_two_replicas_interrupts_nobody(hosting: Hosting) -> None:
    hosting.apply(manifests("three", version=OLD, replicas=2))
    three = hosting.tenant("three")
    eventually(lambda: hosting.plane("three")["status"].get("readyReplicas") == 2, "two API servers")
    eventually(lambda: hosting.holds("three", "ComponentsReady"), "the components")
    assert hosting.plane("three")["status"]["version"] == OLD

    with (
        hosting.proxy(three) as through_proxy,
        Load(through_proxy, ["GET", "GET"]) as over_http2,
        Load(three.ask) as fresh,
        KeptLoad(three, hosting.binaries.path("kubectl")) as kept,
    ):
        hosting.kubectl("patch", "hcp", "three", "--type=merge", "-p", '{"spec":{"version":"v1.36.3"}}')

        def upgraded() -> bool:
            status = hosting.plane("three")["status"]
            return (status["version"], status["readyReplicas"]) == ("v1.36.3", 2)

        eventually(upgraded, "the upgrade", within=2 * PATIENCE)
        go_on(kept, over_http2, fresh)

    assert [*kept.failed, *over_http2.failed, *fresh.failed] == []
    assert over_http2.succeeded > 50
    assert fresh.succeeded > 50
    assert set(kept.succeeded) == kept.clients
    # They were sent elsewhere, and from there back, and did keep their connections otherwise.
    assert all(2 <= count <= 10 for count in kept.connections.values()), kept.connections
    assert hosting.plane("three")["status"]["versions"] == [{"version": "v1.36.3", "replicas": 2}]


def test_an_api_server_that_somebody_else_ends_interrupts_nobody(hosting: Hosting) -> None:
    three = hosting.tenant("three")
    before = hosting.processes(three.uid)["kube-apiserver-0"]

    with KeptLoad(three, hosting.binaries.path("kubectl")) as kept:
        os.kill(before, signal.SIGTERM)
        eventually(lambda: hosting.processes(three.uid).get("kube-apiserver-0", before) != before, "another API server")
        go_on(kept)

    assert kept.failed == []
    assert set(kept.succeeded) == kept.clients


def test_the_balancer_takes_over_the_port_of_the_only_api_server(hosting: Hosting) -> None:
    """For a moment both listen there, which Linux permits to processes of one user."""
    hosting.apply(manifests("two", replicas=2))

    def behind_a_balancer() -> bool:
        two = hosting.plane("two")
        assert (two["status"]["readyReplicas"], two["status"]["upToDateReplicas"]) == (2, 2)
        return "balancer" in hosting.processes(two["metadata"]["uid"]) and hosting.holds("two", "ComponentsReady")

    eventually(behind_a_balancer, "two API servers")
    assert hosting.tenant("two").is_ready()


def test_a_deleted_control_plane_leaves_nothing(hosting: Hosting) -> None:
    tenants = [hosting.tenant(name) for name in ("one", "two", "three")]
    hosting.kubectl("delete", "cluster", *(each.name for each in tenants), "--timeout=200s")

    folder = hosting.folder / "hosted"
    assert [*(folder / "tenants").iterdir()] == []
    for each in tenants:
        assert hosting.processes(each.uid) == {}
        assert [*(folder / "processes").glob(f"{each.uid}*")] == []
    assert asyncio.run(_remains(hosting)) == ([], ["root"])
    assert hosting.kubectl("get", "secrets", "-o", "name") == ""
    assert hosting.kubectl("get", "datastore", "default", "-o", "jsonpath={.status.usedBy}") in ("", "[]")
    hosting.kubectl("delete", "datastore", "default", "--timeout=200s")
    assert [*(folder / "stores").iterdir()] == []


async def test_certificates_are_renewed_without_an_interruption() -> None:
    validity = timedelta(seconds=36)
    installed_binaries(("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd"))
    with RunningServer() as server, tempfile.TemporaryDirectory(prefix="nagaya-hosting-") as name:
        folder, world = Path(name) / "hosted", World()
        settings = HostSettings(folder, "127.0.0.1", tenant_ports(), leaf_validity=validity, stop_with_us=True)
        connection = kubeconfig.load(server.kubeconfig)
        plane = Plane(
            HttpTransport(connection, world=world),
            world,
            lambda tenant: HttpTransport(tenant, world=world),
            parts=PARTS,
            hosting=settings,
        )
        hosting = Hosting(server, Path(name))
        try:
            await install(plane.client, PARTS)
            await plane.start()
            await asyncio.to_thread(_renewed, hosting, validity)
        finally:
            await plane.stop()
            end_tenants(folder)


def _renewed(hosting: Hosting, validity: timedelta) -> None:
    hosting.apply(manifests("short"))
    short = hosting.tenant("short")
    began, first = time.monotonic(), short.serial_number()
    eventually(lambda: hosting.holds("short", "ComponentsReady"), "the components")
    before = hosting.processes(short.uid)
    with Load(lambda method, path, body: short.ask(method, path, body)) as load:
        eventually(lambda: short.serial_number() != first, "another certificate")
        # By now the first certificates of all programs have expired.
        time.sleep(max(0.0, began + validity.total_seconds() + 2 - time.monotonic()))
        hosting.kubectl("create", "namespace", "later", tenant=short)
        path = "/api/v1/namespaces/later/serviceaccounts/default"
        eventually(lambda: short.ask("GET", path)[0] == 200, "what kube-controller-manager does")

    assert load.failed == []
    assert load.succeeded > 50
    assert hosting.processes(short.uid) == before
    assert "CertificateRenewed" in hosting.kubectl("get", "events")


def go_on(*loads: Load | KeptLoad, requests: int = 2) -> None:
    """Wait until every client has had so many more answers, good or bad. The first may be to an earlier request."""
    before = [_answers(load) for load in loads]
    eventually(
        lambda: all(
            now >= known + requests
            for load, counts in zip(loads, before, strict=True)
            for now, known in zip(_answers(load), counts, strict=True)
        ),
        "further requests",
    )


def _answers(load: Load | KeptLoad) -> list[int]:
    """How many answers each client has had; of a `Load`, which does not tell its clients apart, how many on average."""
    if isinstance(load, Load):
        return [(load.succeeded + len(load.failed)) // len(load._threads)]
    failed = [name for name, _ in load.failed]
    return [load.succeeded[name] + failed.count(name) for name in sorted(load.clients)]


def _etcd(hosting: Hosting) -> ManagedEtcd:
    uid = hosting.kubectl("get", "datastore", "default", "-o", "jsonpath={.metadata.uid}")
    return ManagedEtcd.prepare(hosting.folder / "hosted" / "stores" / uid, Path("etcd"), World())


async def _keys(hosting: Hosting, tenant: Tenant, *, of: Tenant) -> int:
    """How many keys of a tenant another can count with its own certificate."""
    pki = hosting.folder / "hosted" / "tenants" / tenant.uid / "pki" / "datastore"
    context = client_tls(
        (pki / "ca.crt").read_bytes(),
        (pki / "client.crt").read_bytes(),
        (pki / "client.key").read_bytes(),
        check_name=True,
    )
    async with await EtcdClient.connect(f"https://{_etcd(hosting).endpoint}", context, timeout=30) as client:
        count = 0
        async for page in client.kv.pages(f"/{of.uid}/".encode()):
            count += len(page.kvs)
        return count


async def _remains(hosting: Hosting) -> tuple[list[bytes], list[str]]:
    """All keys and users that are left in the data store."""
    async with _etcd(hosting).driver().connected() as client:
        keys = []
        async for page in client.kv.pages(b"/"):
            keys += [each.key for each in page.kvs]
        return keys, sorted(await client.auth.users())
