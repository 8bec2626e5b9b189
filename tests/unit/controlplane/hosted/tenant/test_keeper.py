"""The keeper and the embedded server, on virtual time: everything but the network is as in a tenant."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from nagaya.apiserver.server import ApiServer, Config
from nagaya.cli.in_process import InProcessTransport
from nagaya.controlplane.hosted.tenant import kinds
from nagaya.controlplane.hosted.tenant.keeper import FIELD_MANAGER, Keeper
from nagaya.controlplane.hosted.tenant.keepers import Keepers
from nagaya.controlplane.hosted.tenant.objects import objects
from nagaya.controlplane.hosted.tenant.setup import KubeProxy, TenantSetup
from nagaya.kube.client import Client
from nagaya.kube.connection import Connection
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.patches import Merge
from nagaya.kube.remote import Remotes
from support.virtual_run import run, virtual_world

pytestmark = pytest.mark.slow

SETUP = TenantSetup("shop", "v1.36.3", "192.0.2.10:6443", b"PEM", core_dns=None, kube_proxy=None)
KEY = Key("default", "shop")


class Tenant:
    """An API, somebody who writes to it, and who writes and how often."""

    def __init__(self, server: ApiServer) -> None:
        self.world = virtual_world()
        self.server = server
        self.told = 0
        self.writes: list[str] = []
        self.user = Client(InProcessTransport(server, user="somebody"), world=self.world)
        self.client = Client(InProcessTransport(server), world=self.world, told=self._told)
        self.keeper = Keeper("shop", self.client, self.world, self._changed)

    def _changed(self) -> None:
        self.told += 1

    def _told(self, verb: str, resource: str, status: int, seconds: float) -> None:
        if verb not in ("get", "list", "watch"):
            self.writes.append(f"{verb} {resource}")

    async def quiet(self) -> None:
        await self.server.settled()
        await asyncio.sleep(0.1)

    async def patch(self, kind: Any, name: str, content: dict[str, Any]) -> None:
        await self.user.patch(kind, "kube-system" if kind.namespaced else "", name, Merge(content))
        await self.quiet()


def with_tenant(scenario: Callable[[Tenant], Awaitable[None]]) -> None:
    async def main() -> None:
        server = await ApiServer.start(Config(), virtual_world())
        tenant = Tenant(server)
        try:
            await scenario(tenant)
        finally:
            await tenant.keeper.close()
            await server.stop()

    run(main())


async def set_up(tenant: Tenant, setup: TenantSetup = SETUP) -> None:
    await tenant.keeper.synced()
    outcome = await tenant.keeper.ensure(setup)
    assert outcome.complete, outcome
    await tenant.quiet()
    tenant.told, tenant.writes = 0, []


def test_nothing_is_waited_for_and_the_first_look_is_announced() -> None:
    async def scenario(tenant: Tenant) -> None:
        first = await tenant.keeper.ensure(SETUP)
        assert not first.complete
        assert first.waiting
        assert tenant.writes == []
        await tenant.quiet()
        assert tenant.told == 1
        second = await tenant.keeper.ensure(SETUP)
        assert second.complete
        assert len(second.done) == len(tenant.writes) == len(objects(SETUP))

    with_tenant(scenario)


def test_a_tenant_that_is_as_it_shall_be_hears_nothing() -> None:
    async def scenario(tenant: Tenant) -> None:
        await set_up(tenant)
        assert (await tenant.keeper.ensure(SETUP)).done == ()
        assert (tenant.writes, tenant.told) == ([], 0)

    with_tenant(scenario)


def test_our_own_writes_do_not_call_us_back() -> None:
    async def scenario(tenant: Tenant) -> None:
        await set_up(tenant)
        await tenant.keeper.ensure(replace(SETUP, cluster_name="other", kube_proxy=KubeProxy()))
        await tenant.quiet()
        assert tenant.told == 0

    with_tenant(scenario)


@pytest.mark.parametrize(
    ("kind", "name", "content"),
    [
        (kinds.CONFIG_MAPS, "kubelet-config", {"data": {"kubelet": "hacked"}}),
        (kinds.CONFIG_MAPS, "kubelet-config", {"metadata": {"labels": {kinds.MANAGED_BY: None}}}),
        (kinds.CLUSTER_ROLE_BINDINGS, "kubeadm:get-nodes", {"subjects": []}),
        (kinds.CLUSTER_ROLES, "kubeadm:get-nodes", {"rules": []}),
    ],
)
def test_what_somebody_changes_is_told_and_put_right(kind: Any, name: str, content: dict[str, Any]) -> None:
    async def scenario(tenant: Tenant) -> None:
        await set_up(tenant)
        namespace = "kube-system" if kind.namespaced else ""
        before = (await tenant.user.get(kind, namespace, name)).raw
        await tenant.patch(kind, name, content)
        assert tenant.told == 1
        assert len((await tenant.keeper.ensure(SETUP)).done) == 1
        after = (await tenant.user.get(kind, namespace, name)).raw
        for part in ("data", "rules", "subjects", "roleRef"):
            assert after.get(part) == before.get(part)
        assert after["metadata"]["labels"] == before["metadata"]["labels"]

    with_tenant(scenario)


def test_what_somebody_deletes_comes_back() -> None:
    async def scenario(tenant: Tenant) -> None:
        await set_up(tenant)
        await tenant.user.delete(kinds.CONFIG_MAPS, "kube-public", "cluster-info")
        await tenant.quiet()
        assert tenant.told == 1
        assert (await tenant.keeper.ensure(SETUP)).done == ("apply ConfigMap kube-public/cluster-info: it is missing.",)
        assert (await tenant.user.get(kinds.CONFIG_MAPS, "kube-public", "cluster-info")).at("data", "kubeconfig")

    with_tenant(scenario)


def test_what_others_add_calls_nobody_and_stays() -> None:
    async def scenario(tenant: Tenant) -> None:
        await set_up(tenant)
        addition = {"data": {"extra": "theirs"}}
        await tenant.user.patch(kinds.CONFIG_MAPS, "kube-public", "cluster-info", Merge(addition))
        await tenant.quiet()
        assert tenant.told == 0
        await tenant.keeper.ensure(replace(SETUP, endpoint="192.0.2.11:6443"))
        found = await tenant.user.get(kinds.CONFIG_MAPS, "kube-public", "cluster-info")
        assert found.at("data", "extra") == "theirs"
        assert "192.0.2.11" in found.at("data", "kubeconfig")

    with_tenant(scenario)


def test_a_role_that_is_bound_otherwise_is_bound_anew() -> None:
    async def scenario(tenant: Tenant) -> None:
        await set_up(tenant)
        name = "kubeadm:kubelet-bootstrap"
        content = dict((await tenant.user.get(kinds.CLUSTER_ROLE_BINDINGS, "", name)).raw)
        await tenant.user.delete(kinds.CLUSTER_ROLE_BINDINGS, "", name)
        metadata = {"name": name, "labels": {kinds.MANAGED_BY: kinds.NAGAYA}}
        other = {**content, "metadata": metadata, "roleRef": {**content["roleRef"], "name": "cluster-admin"}}
        await tenant.user.create(kinds.CLUSTER_ROLE_BINDINGS, other)
        await tenant.quiet()
        assert (await tenant.keeper.ensure(SETUP)).complete
        bindings = "clusterrolebindings.rbac.authorization.k8s.io"
        assert tenant.writes == [f"delete {bindings}", f"apply {bindings}"]
        found = await tenant.user.get(kinds.CLUSTER_ROLE_BINDINGS, "", name)
        assert found.at("roleRef", "name") == "system:node-bootstrapper"

    with_tenant(scenario)


def test_what_is_refused_is_told_and_keeps_nothing_else_from_being_applied() -> None:
    async def scenario(tenant: Tenant) -> None:
        binding = {
            "metadata": {"name": "kubeadm:get-nodes"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        }
        await tenant.user.create(kinds.CLUSTER_ROLE_BINDINGS, binding)
        await tenant.keeper.synced()
        outcome = await tenant.keeper.ensure(SETUP)
        assert len(outcome.done) == len(objects(SETUP)) - 1
        (problem,) = outcome.problems
        assert problem.startswith("Cannot apply ClusterRoleBinding kubeadm:get-nodes: ")
        assert "roleRef" in problem
        # It is another's: it may be refused again, but it is never removed.
        found = await tenant.user.get(kinds.CLUSTER_ROLE_BINDINGS, "", "kubeadm:get-nodes")
        assert found.at("roleRef", "name") == "view"

    with_tenant(scenario)


def test_an_addon_that_is_switched_off_is_removed() -> None:
    async def scenario(tenant: Tenant) -> None:
        full = replace(SETUP, kube_proxy=KubeProxy())
        await set_up(tenant, full)
        outcome = await tenant.keeper.ensure(SETUP)
        assert outcome.complete
        assert len(outcome.done) == len(objects(full)) - len(objects(SETUP)) + 1  # kubeadm-config says so, too
        with pytest.raises(NotFound):
            await tenant.user.get(kinds.DAEMON_SETS, "kube-system", "kube-proxy")
        await tenant.quiet()
        assert (await tenant.keeper.ensure(SETUP)).done == ()

    with_tenant(scenario)


def test_a_setup_that_makes_no_sense_changes_nothing() -> None:
    async def scenario(tenant: Tenant) -> None:
        await set_up(tenant)
        with pytest.raises(ValueError, match="there is no nowhere"):
            await tenant.keeper.ensure(replace(SETUP, kubelet_patches=({"op": "remove", "path": "/nowhere"},)))
        assert tenant.writes == []
        assert (await tenant.keeper.ensure(SETUP)).done == ()

    with_tenant(scenario)


def test_fields_are_ours_by_server_side_apply() -> None:
    async def scenario(tenant: Tenant) -> None:
        await set_up(tenant)
        answer = await tenant.user.raw("GET", "/api/v1/namespaces/kube-system/configmaps/kubelet-config")
        assert f'"manager":"{FIELD_MANAGER}","operation":"Apply"' in answer.body.decode().replace(" ", "")

    with_tenant(scenario)


def test_each_connection_of_a_tenant_has_a_keeper_of_its_own() -> None:
    async def main() -> None:
        world = virtual_world()
        server = await ApiServer.start(Config(), world)
        remotes = Remotes(lambda connection: InProcessTransport(server), world)
        told: list[Key] = []
        keepers = Keepers(remotes, world, told.append)
        try:
            remotes.want(KEY)
            remotes.offer(KEY, Connection("one"))
            await asyncio.sleep(1)
            remote = remotes.get(KEY)
            assert remote is not None
            keeper = keepers.of(remote)
            assert keepers.of(remote) is keeper
            assert (await keeper.ensure(SETUP)).waiting
            await asyncio.sleep(1)
            assert told == [KEY]
            assert (await keeper.ensure(SETUP)).complete
            remotes.offer(KEY, Connection("two"))
            await asyncio.sleep(1)
            after = remotes.get(KEY)
            assert after is not None
            assert after is not remote
            other = keepers.of(after)
            assert other is not keeper
            await other.synced()
            assert (await other.ensure(SETUP)).done == ()
        finally:
            await keepers.close()
            await remotes.close()
            await server.stop()

    run(main())
