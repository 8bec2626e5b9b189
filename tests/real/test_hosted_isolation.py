"""Control planes that an earlier version of Nagaya, which gave nobody a user, has left running."""

from __future__ import annotations

import asyncio
import os
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from nagaya.cli.plane import Plane, install
from nagaya.controlplane.hosted.host.settings import HostSettings
from nagaya.kube import kubeconfig
from nagaya.kube.http import HttpTransport
from nagaya.world import World
from support.hosting import Hosting, end_tenants, eventually, manifests, tenant_ports
from support.real import installed_binaries
from support.running_server import RunningServer

pytestmark = [
    pytest.mark.exhaustive,
    pytest.mark.long("starts real control planes twice"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give programs other users"),
]

PARTS = ("core", "controlplane-hosted")
SQLITE = {
    "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1",
    "kind": "DataStore",
    "metadata": {"name": "lite"},
    "spec": {"driver": "SQLite"},
}


def user_of(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


async def test_programs_that_ran_as_root_get_users_and_keep_their_data() -> None:
    installed_binaries(("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd", "kine"))
    with RunningServer() as server, tempfile.TemporaryDirectory(prefix="nagaya-hosting-") as name:
        folder, world = Path(name) / "hosted", World()
        earlier = HostSettings(folder, "127.0.0.1", tenant_ports(), isolated=False)
        connection, hosting = kubeconfig.load(server.kubeconfig), Hosting(server, Path(name))

        def plane(settings: HostSettings) -> Plane:
            def connect(tenant: kubeconfig.Connection) -> HttpTransport:
                return HttpTransport(tenant, world=world)

            return Plane(HttpTransport(connection, world=world), world, connect, parts=PARTS, hosting=settings)

        running = plane(earlier)
        try:
            await install(running.client, PARTS)
            await running.start()
            before = await asyncio.to_thread(_began, hosting)
            await running.stop()
            assert {user_of(pid) for each in before.values() for pid in each.values()} == {0}
            running = plane(replace(earlier, isolated=True))
            await running.start()
            await asyncio.to_thread(_went_on, hosting, before)
        finally:
            await running.stop()
            end_tenants(folder)


def _began(hosting: Hosting) -> dict[str, dict[str, int]]:
    hosting.apply(yaml.safe_dump(SQLITE))
    hosting.apply(manifests("lite", dataStoreRef={"name": "lite"}, addons={"konnectivity": {"enabled": True}}))
    hosting.apply(manifests("two", replicas=2))
    found = {}
    for name in ("lite", "two"):
        tenant = hosting.tenant(name)
        eventually(lambda name=name: hosting.holds(name, "ComponentsReady"), "the components")  # type: ignore[misc]
        hosting.kubectl("create", "namespace", "kept", tenant=tenant)
        found[tenant.uid] = hosting.processes(tenant.uid)
        assert hosting.condition(name, "ProgramsIsolated")["reason"] == "NotIsolated"
    return found


def _went_on(hosting: Hosting, before: dict[str, dict[str, int]]) -> None:
    for name in ("lite", "two"):

        def exchanged(name: str = name) -> bool:
            uid = hosting.plane(name)["metadata"]["uid"]
            assert {user_of(pid) for pid in hosting.processes(uid).values()} <= set(hosting.users().values())
            assert hosting.processes(uid).keys() == before[uid].keys()
            return all(hosting.holds(name, each) for each in ("ProgramsIsolated", "ComponentsReady"))

        eventually(exchanged, "programs of other users")
        tenant = hosting.tenant(name)
        # One API server alone is away while it starts.
        eventually(tenant.is_ready, "an API that answers")
        assert "namespace/kept" in hosting.kubectl("get", "namespaces", "-o", "name", tenant=tenant)
        hosting.kubectl("create", "namespace", "new", tenant=tenant)
        user = hosting.users()[tenant.uid]
        of_tenant = hosting.folder / "hosted" / "tenants" / tenant.uid
        for path in (of_tenant / "logs", *(of_tenant / "logs").iterdir(), of_tenant / "run"):
            assert path.stat().st_uid == user, path
    [database] = (hosting.folder / "hosted" / "stores").glob("*/*/state.db")
    owners = {each.stat().st_uid for each in (database.parent, *database.parent.iterdir())}
    assert len(owners) == 1
    assert 0 not in owners
