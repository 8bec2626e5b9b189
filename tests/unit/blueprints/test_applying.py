"""Drafted objects on a management API: all or nothing, and never a change."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine_deployment import MACHINE_DEPLOYMENTS
from nagaya.apiserver.server import ApiServer, Config
from nagaya.blueprints.applying import Refused, create, examine, kind_of
from nagaya.blueprints.blueprint import blueprint
from nagaya.blueprints.wish import HOSTED, KUBEADM, PROXMOX, SIMULATED, Pool, ProxmoxWish, Ranges, Wish
from nagaya.cli.in_process import InProcessTransport
from nagaya.kube.client import Client
from nagaya.kube.patches import Apply, Merge
from nagaya.world import World
from support.prepared import start_prepared

WISH = Wish("shop", "default", "v1.36.3", SIMULATED, KUBEADM, workers=2)
_ON_PROXMOX = ProxmoxWish("lab", Ranges(("10.0.0.20-10.0.0.39",), "10.0.0.1"), ("10.0.0.1",), "10.0.0.10")
_POOLED = ProxmoxWish("lab", Pool("office"), ("10.0.0.1",), Pool("office"))
_PLAIN = replace(_ON_PROXMOX, addresses=None, dns=(), image="debian-13")
ALL = [
    WISH,
    replace(WISH, control_plane=HOSTED, data_store="small"),
    *(replace(WISH, infrastructure=PROXMOX, proxmox=each) for each in (_ON_PROXMOX, _POOLED, _PLAIN)),
    replace(WISH, infrastructure=PROXMOX, control_plane=HOSTED, proxmox=replace(_ON_PROXMOX, endpoint="")),
]


@pytest.fixture
async def client() -> AsyncIterator[Client]:
    """A management API that knows all kinds and checks what it is given, without controllers."""
    world = World()
    server = await start_prepared(world)
    client = Client(InProcessTransport(server), world=world, field_manager="nagaya-cli")
    yield client
    await client.close()
    await server.stop()


async def test_every_combination_is_accepted(client: Client) -> None:
    for wish in ALL:
        assert not any(each.exists for each in await examine(client, blueprint(wish)))


async def test_the_same_again_is_nothing_to_do_and_what_is_missing_is_made(client: Client) -> None:
    await create(client, await examine(client, blueprint(WISH)))
    steps = await examine(client, blueprint(WISH))
    assert [(each.exists, each.difference) for each in steps] == [(True, "")] * len(steps)
    await client.delete(MACHINE_DEPLOYMENTS, "default", "shop-workers")
    steps = await examine(client, blueprint(WISH))
    assert [each.name for each in steps if not each.exists] == ["shop-workers"]
    await create(client, steps)
    assert (await client.get(MACHINE_DEPLOYMENTS, "default", "shop-workers")).spec.replicas == 2


async def test_another_thing_of_the_same_name_is_told_and_left_alone(client: Client) -> None:
    await create(client, await examine(client, blueprint(WISH)))
    steps = await examine(client, blueprint(replace(WISH, workers=3)))
    assert [(each.name, each.difference) for each in steps if each.difference] == [("shop-workers", "spec.replicas")]
    await client.patch(MACHINE_DEPLOYMENTS, "default", "shop-workers", Merge({"spec": {"replicas": 7}}))
    (step,) = [each for each in await examine(client, blueprint(WISH)) if each.difference]
    await create(client, [step])
    assert (await client.get(MACHINE_DEPLOYMENTS, "default", "shop-workers")).spec.replicas == 7


async def test_what_was_made_is_changed_by_kubectl_without_a_quarrel_about_whose_it_is(client: Client) -> None:
    await create(client, await examine(client, blueprint(WISH)))
    for drafted in blueprint(replace(WISH, version="v1.36.4", workers=3)):
        apply = Apply(drafted, "kubectl", force=False)
        await client.patch(kind_of(drafted), "default", drafted["metadata"]["name"], apply)
    assert (await client.get(MACHINE_DEPLOYMENTS, "default", "shop-workers")).spec.replicas == 3


async def test_a_draft_says_all_that_admission_would_add_to_what_is_one_value(client: Client) -> None:
    for wish in ALL:
        await create(client, await examine(client, blueprint(wish)))
        for drafted in blueprint(wish):
            apply = Apply(drafted, "somebody", force=False)
            await client.patch(kind_of(drafted), "default", drafted["metadata"]["name"], apply, dry_run=True)
            await client.delete(kind_of(drafted), "default", drafted["metadata"]["name"])


async def test_a_refusal_of_the_last_object_leaves_nothing(client: Client) -> None:
    drafted = blueprint(WISH)
    drafted[-3]["spec"]["replicas"] = -1
    with pytest.raises(Refused, match=r"MachineDeployment shop-workers would be refused: .*replicas"):
        await examine(client, drafted)
    assert not (await client.list(CLUSTERS)).items


async def test_a_namespace_that_is_missing_is_told_with_the_command_that_makes_it(client: Client) -> None:
    with pytest.raises(Refused, match=r"Namespace team does not exist\. Make it: `kubectl create namespace team`\."):
        await examine(client, blueprint(replace(WISH, namespace="team")))


async def test_an_api_without_the_kinds_is_told_so() -> None:
    world = World()
    server = await ApiServer.start(Config(), world)
    client = Client(InProcessTransport(server), world=world)
    try:
        with pytest.raises(Refused, match="does not know Clusters"):
            await examine(client, blueprint(WISH))
    finally:
        await client.close()
        await server.stop()
