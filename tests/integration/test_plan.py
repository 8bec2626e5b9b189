"""`nagaya plan` on running planes: what it foretells is what the controllers then really do, and nothing is written."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from integration.controlplane.kubeadm_cluster import KubeadmCluster, settled
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.controlplane.data_store import DATA_STORES
from nagaya.binaries.errors import ProvidedMismatch
from nagaya.cli.output.forecast import told
from nagaya.infrastructure.proxmox.client import Facts, Proxmox
from nagaya.insight.foresight.change import Verb
from nagaya.insight.foresight.doubts import Severity
from nagaya.insight.foresight.forecast import Forecast, foresee
from nagaya.insight.foresight.rehearsal import Manifest
from nagaya.insight.picture.read import read_kinds
from nagaya.kube.patches import Apply
from support.lab import KINDS, Lab, play_embedded
from support.manifests.simulated import Simulated
from support.proxmox_town import Town, play, town
from support.proxmox_town_layout import NEW
from support.proxmox_town_manifests import Shop
from support.proxmox_transport import ToEmulator


async def _plan(plane: Lab, *contents: Mapping[str, Any]) -> tuple[Forecast, str]:
    def opened(facts: Facts) -> Proxmox:
        assert isinstance(plane, Town)
        return Proxmox(facts, plane.world, transport=ToEmulator(plane.emulator))

    manifests = [Manifest(each, "cluster.yaml") for each in contents]
    kinds = await read_kinds(plane.client)
    found = await foresee(plane.client, plane.world, kinds, manifests, plane.namespace, opened)
    return found, "\n".join(line for line, _ in told(found, None))


async def _apply(plane: Lab, *contents: Mapping[str, Any]) -> None:
    """As kubectl does."""
    for each in contents:
        patch = Apply(each, "kubectl", force=True)
        await plane.client.patch(KINDS[each["kind"]], plane.namespace, each["metadata"]["name"], patch)


@dataclass
class Seen:
    """What really happened to Machines, in order."""

    owners: dict[str, str] = field(default_factory=dict)
    steps: list[tuple[str, str, str]] = field(default_factory=list)
    """What, of whom, and of deletions which machine; of creations which version."""

    def of(self, owner: str) -> list[tuple[str, str, str]]:
        return [each for each in self.steps if each[1] == owner]


@asynccontextmanager
async def _watching(plane: Lab) -> AsyncIterator[Seen]:
    seen = Seen()
    listing = await plane.client.list(MACHINES, plane.namespace)
    going: set[str] = set()

    async def follow() -> None:
        async for event in plane.client.watch(
            MACHINES, plane.namespace, resource_version=listing.resource_version, timeout=36000
        ):
            machine = event.object
            if machine is None:
                continue
            name, controller = machine.metadata.name, machine.metadata.controller
            owner = "" if controller is None else controller.kind
            if event.type == "ADDED":
                seen.steps.append(("+", owner, machine.spec.version))
            elif machine.metadata.deleting and name not in going:
                going.add(name)
                seen.steps.append(("-", owner, name))

    following = asyncio.create_task(follow())
    try:
        yield seen
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


def _foretold(found: Forecast, owner: str) -> list[tuple[str, str, str]]:
    """The same of a forecast. Machines of a deployment really belong to its set."""
    kinds = {"MachineDeployment": "MachineSet"}
    moves = [(each, each.owner.partition(" ")[0]) for cluster in found.clusters for each in cluster.moves]
    return [
        ("+" if each.made else "-", kinds.get(kind, kind), each.version if each.made else each.machine)
        for each, kind in moves
        if kinds.get(kind, kind) == owner
    ]


def _strategy(surge: int, unavailable: int) -> dict[str, Any]:
    return {
        "rollout": {
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable},
            }
        }
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"workers": 1}, {"workers": 4}),
        ({"workers": 4}, {"workers": 1}),
        ({"workers": 3}, {"workers": 3, "version": "v1.36.4"}),
        ({"workers": 3, "deployment": _strategy(0, 1)}, {"workers": 3, "version": "v1.36.4"}),
        ({"workers": 4, "deployment": _strategy(2, 0)}, {"workers": 4, "version": "v1.36.4"}),
        ({"workers": 4}, {"workers": 2, "version": "v1.36.4"}),
    ],
    ids=["scale up", "scale down", "surge", "no surge", "surge of two", "smaller and newer"],
)
def test_workers_move_as_was_foretold(before: dict[str, Any], after: dict[str, Any]) -> None:
    async def scenario(lab: Lab) -> None:
        old = Simulated("demo", lab.namespace, **before)
        await _apply_all(lab, old)
        await lab.available("demo")
        await lab.running(old.workers)
        await asyncio.sleep(60)
        changed = replace(old, **after).workers_()
        writes = await _revision(lab)
        found, text = await _plan(lab, changed)
        assert await _revision(lab) == writes, "a plan writes nothing"
        assert found.worst() is None, text
        foretold = _foretold(found, "MachineSet")
        assert foretold, text
        async with _watching(lab) as seen:
            await _apply(lab, changed)
            await lab.running(after["workers"])
            await lab.rolled("demo-workers", after.get("version", ""))
            await asyncio.sleep(60)
        assert seen.of("MachineSet") == foretold, text

    play_embedded(scenario)


_NO_SURGE = {"rollout": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}}
_ROTATED = {
    "machineTemplate": {
        "spec": {
            "infrastructureRef": {
                "apiGroup": "infrastructure.cluster.x-k8s.io",
                "kind": "SimulatedMachineTemplate",
                "name": "demo-other",
            }
        }
    }
}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"control_planes": 1}, {"control_planes": 3}),
        ({"control_planes": 3}, {"control_planes": 1}),
        ({"control_planes": 3}, {"version": "v1.36.3"}),
        ({"control_planes": 3, "control_plane_spec": _NO_SURGE}, {"version": "v1.36.3"}),
        ({"control_planes": 1}, {"control_plane_spec": _ROTATED}),
    ],
    ids=["scale up", "scale down", "surge", "no surge", "another template"],
)
def test_control_planes_move_as_was_foretold(before: dict[str, Any], after: dict[str, Any]) -> None:
    async def scenario(lab: Lab) -> None:
        old = KubeadmCluster("demo", lab.namespace, **before)
        await _apply(lab, *old.manifests(), old.template("other", startupSeconds=2))
        await settled(lab, "demo", old.control_planes)
        await asyncio.sleep(60)
        new = replace(old, **after)
        found, text = await _plan(lab, new.control_plane())
        assert found.worst() is None, text
        foretold = _foretold(found, "KubeadmControlPlane")
        assert foretold, text
        async with _watching(lab) as seen:
            await _apply(lab, new.control_plane())
            await asyncio.sleep(30)
            await settled(lab, "demo", new.control_planes, new.version)
            await asyncio.sleep(120)
        assert seen.of("KubeadmControlPlane") == foretold, text

    play_embedded(scenario)


@pytest.mark.long("plays an upgrade twice: foretold, and then for real")
def test_an_upgrade_is_foretold_to_its_end_while_the_control_plane_is_still_coming_up() -> None:
    async def scenario(lab: Lab) -> None:
        old = KubeadmCluster("demo", lab.namespace, control_planes=3, workers=1)
        await _apply(lab, *old.manifests())
        new = replace(old, version="v1.36.3")
        sizes = set()
        for _ in range(60):
            await asyncio.sleep(0.5)
            plane = await lab.get("KubeadmControlPlane", "demo")
            if not plane.status.initialization.control_plane_initialized:
                continue
            sizes.add(plane.status.ready_replicas)
            found, text = await _plan(lab, new.control_plane(), new.deployment())
            assert found.worst() is None, text
        await settled(lab, "demo", 3)
        assert 3 in sizes
        assert len(sizes) > 1, "it was looked at in the midst of it"

    play_embedded(scenario)


async def _apply_all(lab: Lab, simulated: Simulated) -> None:
    boot = simulated.boot_data()
    await lab.create(boot)
    await _apply(lab, *(each for each in simulated.manifests() if each["kind"] != "Secret"))


async def _revision(lab: Lab) -> str:
    return (await lab.client.list(MACHINES, lab.namespace)).resource_version


def _play_town(shop: Shop, scenario: Callable[[Town], Awaitable[None]]) -> None:
    async def main() -> None:
        async with town(shop) as made:
            await made.apply()
            await made.begin()
            await made.until("all is there", lambda: made.has(shop.control_planes, shop.workers), 1200)
            await asyncio.sleep(120)
            await scenario(made)

    play(main())


@pytest.mark.long("plays an upgrade twice: foretold, and then for real")
def test_an_upgrade_replaces_machines_as_was_foretold_and_where() -> None:
    shop = Shop(control_planes=3, workers=2)

    async def scenario(made: Town) -> None:
        newer = replace(shop, version=NEW)
        changed = (newer.control_plane(), newer.workers_())
        found, text = await _plan(made, *changed)
        assert found.worst() is not Severity.ERROR, text
        async with _watching(made) as seen:
            await _apply(made, *changed)
            await made.until("all is new", lambda: made.has(3, 2, NEW), 3600)
            await asyncio.sleep(120)
        assert seen.of("KubeadmControlPlane") == _foretold(found, "KubeadmControlPlane"), text
        assert seen.of("MachineSet") == _foretold(found, "MachineSet"), text
        first = next(iter(found.clusters[0].landings.values()))
        assert first.host.startswith("pve")

    _play_town(shop, scenario)


def test_a_control_plane_grows_and_a_machine_lands_where_was_foretold() -> None:
    shop = Shop(control_planes=1, workers=1)

    async def scenario(made: Town) -> None:
        changed = replace(shop, control_planes=3).control_plane()
        found, text = await _plan(made, changed)
        assert _foretold(found, "KubeadmControlPlane") == [("+", "KubeadmControlPlane", shop.version)] * 2, text
        hosts = [each.host for each in found.clusters[0].landings.values()]
        there = {each.metadata.name for each in await made.all("ProxmoxMachine")}
        await _apply(made, changed)
        await made.until("three are there", lambda: made.has(3, 1), 1800)
        fresh = [each for each in await made.all("ProxmoxMachine") if each.metadata.name not in there]
        fresh.sort(key=lambda each: each.metadata.creation_timestamp)
        assert [each.status.proxmox_node for each in fresh] == hosts, text

    _play_town(shop, scenario)


def test_a_new_cluster_is_foretold_before_anything_of_it_exists() -> None:
    shop = Shop(control_planes=3, workers=2)

    async def main() -> None:
        async with town(shop) as made:
            found, text = await _plan(made, *shop.manifests())
            assert {each.verb for each in found.changes} == {Verb.CREATE}
            (cluster,) = found.clusters
            assert (cluster.before, cluster.after) == (0, 5)
            assert cluster.moves[0].owner == "KubeadmControlPlane shop", text
            assert "is made by the same manifests" in cluster.hosts_unknown
            assert [each.taken for each in cluster.pools] == [5]
            assert await made.all("Cluster") == []
            found, text = await _plan(made, *replace(shop, control_planes=2).manifests())
            assert "KubeadmControlPlane default/shop (cluster.yaml) would be refused: spec.replicas" in text

    play(main())


def test_what_does_not_fit_is_said_of_hosts_templates_and_pools() -> None:
    few = {"addresses": ["10.0.0.10-10.0.0.12"], "prefix": 24, "gateway": "10.0.0.1"}
    shop = Shop(control_planes=1, workers=1, infrastructure={"ipv4Config": few})

    async def scenario(made: Town) -> None:
        large = copy.deepcopy(shop.workers_())
        large["spec"]["template"]["spec"]["infrastructureRef"]["name"] = "shop-worker-large"
        found, text = await _plan(made, shop.template("worker", "-large", memoryMiB=1 << 20), large)
        assert found.worst() is Severity.ERROR
        assert "would find no host" in text
        assert "1024.0 GiB needed" in text
        assert "Memory: free some, ask for less (memoryMiB)" in text
        # The new machine never comes up, so no old one goes.
        assert [each.made for each in found.clusters[0].moves] == [True]

        found, text = await _plan(made, replace(shop, version="v1.36.9").control_plane())
        assert "no template has the tags kubernetes-v1.36.9" in text
        assert "nagaya proxmox image add" in text

        found, text = await _plan(made, replace(shop, workers=5).workers_())
        assert found.worst() is Severity.ERROR
        assert "InClusterIPPool shop-v4-icip has 1 free addresses" in text
        assert "3 of the new machines would wait for an address" in text

        made.control.power_off("pve1")
        made.control.power_off("pve2")
        made.control.power_off("pve3")
        await asyncio.sleep(60)
        found, text = await _plan(made, replace(shop, workers=2).workers_())
        assert found.clusters[0].hosts_unknown
        assert "Hosts are not known" in text
        assert "2 -> 3 machines" in text

    _play_town(shop, scenario)


def test_versions_that_do_not_go_together_are_named() -> None:
    shop = Shop(control_planes=1, workers=1)

    async def scenario(made: Town) -> None:
        found, text = await _plan(made, replace(shop, version="v1.38.0").control_plane())
        assert found.worst() is Severity.ERROR, text
        assert "one minor version at a time: go to v1.37 first" in text
        found, text = await _plan(made, replace(shop, version="v1.37.1").workers_())
        assert "version skew policy" in text

    _play_town(shop, scenario)


def test_manifests_that_are_refused_are_shown_with_field_and_reason() -> None:
    async def scenario(lab: Lab) -> None:
        simulated = Simulated("demo", lab.namespace, workers=1)
        await _apply_all(lab, simulated)
        await lab.available("demo")
        wrong = copy.deepcopy(simulated.workers_())
        wrong["spec"]["replicas"] = "many"
        nameless = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}
        stranger = {"apiVersion": "boats.example.com/v1", "kind": "Boat", "metadata": {"name": "a"}}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"k": "hidden"}}
        found, text = await _plan(lab, wrong, nameless, stranger, secret)
        assert [each.verb for each in found.changes] == [Verb.REFUSE, Verb.REFUSE, Verb.REFUSE, Verb.CREATE]
        assert ".spec.replicas" in text
        assert "metadata.name is missing" in text
        assert "does not serve the kind Boat of boats.example.com/v1" in text
        assert "hidden" not in text
        assert "hidden" not in str(found.document())

    play_embedded(scenario)


def test_a_misspelt_field_is_told_with_the_one_that_was_meant() -> None:
    async def scenario(lab: Lab) -> None:
        simulated = Simulated("demo", lab.namespace, workers=1)
        misspelt = copy.deepcopy(simulated.workers_())
        misspelt["spec"]["template"]["spec"]["versoin"] = "v1.36.3"
        number = copy.deepcopy(simulated.workers_())
        number["spec"]["template"]["spec"]["version"] = 1.36
        unversioned = {name: value for name, value in simulated.cluster().items() if name != "apiVersion"}
        _, text = await _plan(lab, misspelt, number, unversioned)
        assert ".spec.template.spec.versoin: field not declared in schema. Did you mean version?" in text
        assert ".spec.template.spec.version: expected string, got 1.36. Put it in quotes: '1.36'." in text
        assert "would be refused: apiVersion is missing." in text

    play_embedded(scenario)


def test_names_that_lead_nowhere_are_told_unless_the_manifests_bring_what_they_name() -> None:
    async def scenario(lab: Lab) -> None:
        simulated = Simulated("demo", lab.namespace, workers=1)
        manifests = [each for each in simulated.manifests() if each["kind"] != "Secret"]
        workers = next(each for each in manifests if each["kind"] == "MachineDeployment")
        right = workers["spec"]["template"]["spec"]["infrastructureRef"]["name"]
        _, text = await _plan(lab, *manifests)
        assert "neither there" not in text
        workers["spec"]["template"]["spec"]["infrastructureRef"]["name"] = f"{right}x"
        found, text = await _plan(lab, *manifests)
        assert found.worst() is Severity.ERROR
        where = "in .spec.template.spec.infrastructureRef, which is neither there nor in the manifests."
        assert f"names SimulatedMachineTemplate {right}x {where}" in text
        assert f"Did you mean {right}? If not, make SimulatedMachineTemplate {right}x, too." in text
        workers["spec"]["template"]["spec"]["infrastructureRef"]["kind"] = "BoatTemplate"
        _, text = await _plan(lab, *manifests)
        assert "and nobody serves the kind BoatTemplate of infrastructure.cluster.x-k8s.io." in text

    play_embedded(scenario)


def test_a_connection_and_a_pool_that_are_missing_are_told_with_what_makes_them() -> None:
    shop = Shop(control_planes=1, workers=1)

    async def main() -> None:
        async with town(shop) as made:
            named = [copy.deepcopy(each) for each in shop.manifests() if each["kind"] != "ProxmoxConnection"]
            shared = next(each for each in named if each["kind"] == "ProxmoxCluster")
            shared["spec"]["connectionRef"] = {"name": "nowhere"}
            pool = {"apiGroup": "ipam.cluster.x-k8s.io", "kind": "InClusterIPPool", "name": "dry"}
            template = next(each for each in named if each["kind"] == "ProxmoxMachineTemplate")
            template["spec"]["template"]["spec"]["network"] = {
                "networkDevices": [{"name": "net0", "bridge": "vmbr0", "ipPoolRef": [pool]}]
            }
            found, text = await _plan(made, *named)
            assert found.worst() is Severity.ERROR
            assert "Make it: nagaya proxmox connect URL -n default --name nowhere" in text
            assert "names InClusterIPPool dry in .spec.template.spec.network.networkDevices[0].ipPoolRef[0]" in text

    play(main())


def test_programs_of_a_hosted_control_plane_that_are_missing_are_told_with_the_command_that_provides_them() -> None:
    asked: list[tuple[str, frozenset[str]]] = []

    def absent(version: str, names: Collection[str]) -> Sequence[str]:
        asked.append((version, frozenset(names)))
        if version == "v1.34.1":
            raise ProvidedMismatch("the folder has others.")
        return [] if version == "v1.36.3" else sorted(names)

    def plane(name: str, version: str, **spec: Any) -> dict[str, Any]:
        metadata = {"name": name, "namespace": "default"}
        api_version = "controlplane.cluster.x-k8s.io/v1alpha1"
        return {
            "apiVersion": api_version,
            "kind": "HostedControlPlane",
            "metadata": metadata,
            "spec": {"version": version, **spec},
        }

    async def scenario(lab: Lab) -> None:
        files = {"apiVersion": DATA_STORES.api_version, "kind": "DataStore", "metadata": {"name": "files"}}
        manifests = [
            {**files, "spec": {"driver": "SQLite"}},
            plane("there", "v1.36.3"),
            plane("one", "v1.35.9"),
            plane("two", "v1.35.9"),
            plane("three", "v1.35.8", dataStoreRef={"name": "files"}, addons={"konnectivity": {"enabled": True}}),
            plane("asleep", "v1.35.7", replicas=0),
            plane("strange", "v1.34.1"),
        ]
        given = [Manifest(each, "planes.yaml") for each in manifests]
        kinds = await read_kinds(lab.client)
        found = await foresee(lab.client, lab.world, kinds, given, lab.namespace, absent=absent)
        text = "\n".join(line for line, _ in told(found, None))
        three = {"kube-apiserver", "kube-controller-manager", "kube-scheduler"}
        assert asked == [
            ("v1.36.3", three | {"etcd"}),
            ("v1.35.9", three | {"etcd"}),
            ("v1.35.8", three | {"kine", "konnectivity-server"}),
            ("v1.34.1", three | {"etcd"}),
        ]
        assert "HostedControlPlane default/one (and 1 more) needs programs of Kubernetes v1.35.9 that are not" in text
        assert "`nagaya kubernetes install --version v1.35.9 --only control-plane,etcd`" in text
        assert "`nagaya kubernetes install --version v1.35.8 --only control-plane,kine,konnectivity-server`" in text
        assert "HostedControlPlane default/strange would not start: the folder has others." in text
        from_elsewhere, _ = await _plan(lab, *manifests)
        assert not any("programs" in each.what for each in from_elsewhere.doubts)

    play_embedded(scenario)


def test_what_is_as_declared_stays_as_it_is() -> None:
    async def scenario(lab: Lab) -> None:
        simulated = Simulated("demo", lab.namespace, workers=2)
        await _apply_all(lab, simulated)
        await lab.available("demo")
        await lab.running(2)
        manifests = [each for each in simulated.manifests() if each["kind"] != "Secret"]
        found, text = await _plan(lab, *manifests)
        assert {each.verb for each in found.changes} == {Verb.KEEP}, text
        assert not found.changing
        assert text.endswith("Nothing would change.")

    play_embedded(scenario)
