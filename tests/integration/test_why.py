"""`nagaya why` in worlds in which something is broken: it names what is, from wherever it is asked."""

from __future__ import annotations

import asyncio
import base64
import re
from collections.abc import Awaitable, Callable

import pytest

from nagaya.api.cluster.annotations import PRE_TERMINATE_DELETE_HOOK_PREFIX
from nagaya.api.kind import Kind
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.api.untyped import Untyped
from nagaya.infrastructure.proxmox.client import Facts, Proxmox
from nagaya.insight.cause.cause import Weight
from nagaya.insight.cause.explanation import Explanation
from nagaya.insight.cause.read import NotMeant
from nagaya.kube.election import LEASES
from nagaya.kube.patches import Merge
from nagaya.simulators.proxmox.faults.fault import Steps, TaskFault, TaskKind
from support.explaining import explained
from support.lab import SECRETS, Lab, play_embedded
from support.manifests.simulated import CLUSTER_API, DEPLOYMENT_NAME, Simulated
from support.proxmox_town import Town, play, town
from support.proxmox_town_manifests import Shop
from support.proxmox_transport import ToEmulator

PODS = Kind("", "v1", "Pod", "pods", Untyped)
BUDGETS = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", Untyped)
LONG = 300.0


def _play_town(shop: Shop, scenario: Callable[[Town], Awaitable[None]]) -> None:
    async def main() -> None:
        async with town(shop) as made:
            await scenario(made)

    play(main())


async def _why(made: Town, what: str) -> tuple[Explanation, str]:
    def opened(facts: Facts) -> Proxmox:
        return Proxmox(facts, made.world, transport=ToEmulator(made.emulator))

    return await explained(made, what, opened)


async def _until(plane: Lab, what: str, words: str, patience: float = LONG) -> tuple[Explanation, str]:
    """Ask until the answer has some words."""
    end = asyncio.get_running_loop().time() + patience
    while True:
        found, text = await (_why(plane, what) if isinstance(plane, Town) else explained(plane, what))
        if words in text:
            return found, text
        assert asyncio.get_running_loop().time() < end, text
        await asyncio.sleep(5)


def _chain(found: Explanation) -> list[str]:
    return [each.kind for each in found.causes[0].steps]


def test_a_cluster_that_is_well_says_since_when() -> None:
    async def scenario(made: Town) -> None:
        await made.apply()
        await made.begin()
        found, text = await _until(made, "cluster/shop", "Nothing is wrong")
        assert found.well
        assert "Nothing is wrong: Cluster default/shop is available, since 2026-" in text
        assert "3 of 3 machines are ready." in text
        for each in await made.all("Machine"):
            assert (await _why(made, f"ma/{each.metadata.name}"))[0].well
        assert (await _why(made, "proxmoxconnections/pve"))[0].well

    _play_town(Shop(), scenario)


def test_a_reservation_is_explained_though_it_is_in_no_namespace() -> None:
    async def scenario(made: Town) -> None:
        await made.apply()
        await made.begin()
        await _until(made, "cluster/shop", "Nothing is wrong")
        reservation = (await made.client.list(PROXMOX_VIRTUAL_MACHINES)).items[0]
        what = f"proxmoxvirtualmachine/{reservation.metadata.name}"
        _, text = await _why(made, what)
        assert reservation.metadata.name in text
        said = {"status": {"phase": "Orphaned", "message": "VM 100 may not be read: `qm destroy` removes it."}}
        await made.client.patch(
            PROXMOX_VIRTUAL_MACHINES, "", reservation.metadata.name, Merge(said), subresource="status"
        )
        found, text = await _why(made, what)
        assert "VM 100 may not be read: `qm destroy` removes it." in text
        assert found.causes[0].weight is Weight.HELD

    _play_town(Shop(workers=0), scenario)


def test_a_full_storage_is_named_with_host_and_task() -> None:
    async def scenario(made: Town) -> None:
        full = 'Volume group "pve" has insufficient free space (100 extents): 7680 required.'
        text = f"clone failed: lvcreate 'pve/vm-101-disk-0' error: {full}"
        made.control.faults.set(TaskFault(TaskKind.FAIL, Steps("qmclone"), text=text))
        await made.apply()
        await made.begin()
        found, told = await _until(made, "cluster/shop", "failed:")
        cause = found.causes[0]
        assert _chain(found) == ["Cluster", "KubeadmControlPlane", "Machine", "ProxmoxMachine"]
        assert cause.task.startswith("UPID:pve")
        assert f"PVE task {cause.task} (qmclone) on host pve" in told
        assert "is full" in cause.headline
        assert "Free" in cause.remedy
        assert any("insufficient free space" in line for line in cause.log)
        assert "MachineDeployment shop-workers" in cause.also

    _play_town(Shop(), scenario)


def test_a_storage_without_room_is_named_before_anything_is_cloned() -> None:
    async def scenario(made: Town) -> None:
        for storage in made.datacenter.storages.values():
            storage.foreign = storage.capacity
        await made.apply()
        await made.begin()
        found, _ = await _until(made, "cluster/shop", "no host can have the machine")
        assert found.causes[0].deepest.kind == "ProxmoxMachine"
        assert "free" in found.causes[0].headline

    _play_town(Shop(), scenario)


def test_a_host_that_is_off_is_named_by_the_machine_that_was_on_it() -> None:
    async def scenario(made: Town) -> None:
        await made.apply()
        await made.begin()
        await _until(made, "cluster/shop", "Nothing is wrong")
        worker = next(each for each in await made.workers())
        host = (await made.get("ProxmoxMachine", worker.metadata.name)).status.proxmox_node
        made.control.power_off(host)
        found, told = await _until(made, "cluster/shop", f"Host {host} is off")
        assert not found.well
        _, told = await _until(made, f"machine/{worker.metadata.name}", f"Host {host} is off")
        assert "Bring the host back" in told

    _play_town(Shop(), scenario)


def test_a_missing_privilege_is_named_with_its_path() -> None:
    async def scenario(made: Town) -> None:
        access = made.datacenter.access
        for entry in [each for each in access.acl if each[0].startswith("/storage")]:
            del access.acl[entry]
        await made.apply()
        await made.begin()
        found, told = await _until(made, "cluster/shop", "Datastore.AllocateSpace")
        assert found.causes[0].deepest.kind == "ProxmoxConnection"
        assert "pveum" in told

    _play_town(Shop(), scenario)


def test_a_missing_template_is_named_with_those_there_are() -> None:
    async def scenario(made: Town) -> None:
        await made.apply()
        await made.begin()
        found, told = await _until(made, "cluster/shop", "no template has the tags")
        assert found.causes[0].weight is Weight.HELD
        assert "nagaya proxmox image add" in told

    _play_town(Shop(version="v1.30.9"), scenario)


def test_a_pool_without_addresses_is_named_for_all_machines_that_wait() -> None:
    async def scenario(made: Town) -> None:
        await made.apply()
        await made.begin()
        found, told = await _until(made, "cluster/shop", "InClusterIPPool")
        assert found.causes[0].deepest.kind == "InClusterIPPool"
        assert _chain(found)[-3:] == ["ProxmoxMachine", "IPAddressClaim", "InClusterIPPool"]
        assert "Add a range to spec.addresses of the pool" in told

    few = {"addresses": ["10.0.0.10-10.0.0.11"], "prefix": 24, "gateway": "10.0.0.1"}
    _play_town(Shop(workers=3, infrastructure={"ipv4Config": few}), scenario)


def test_a_wrong_token_is_told_once_for_everything_that_it_stops() -> None:
    async def scenario(made: Town) -> None:
        await made.apply()
        wrong = base64.b64encode(b"00000000-0000-0000-0000-000000000000").decode()
        await made.client.patch(SECRETS, made.namespace, "pve", Merge({"data": {"secret": wrong}}))
        await made.begin()
        found, told = await _until(made, "cluster/shop", "ProxmoxConnection pve")
        held = [each for each in found.causes if each.weight is not Weight.WORKING]
        assert [each.deepest.kind for each in held] == ["ProxmoxConnection"]
        assert held[0].deepest.condition is not None
        assert held[0].deepest.condition.reason == "Refused"
        assert "nagaya proxmox connect" in told
        assert "00000000-0000" not in told

    _play_town(Shop(), scenario)


def test_boot_data_that_is_missing_is_named() -> None:
    async def scenario(made: Town) -> None:
        await made.apply()
        await made.begin()
        await _until(made, "cluster/shop", "Nothing is wrong")
        boot = {"configRef": None, "dataSecretName": "nowhere"}
        await made.merge("MachineDeployment", "shop-workers", {"spec": {"template": {"spec": {"bootstrap": boot}}}})
        found, _ = await _until(made, "cluster/shop", "nowhere")
        assert _chain(found) == ["Cluster", "MachineDeployment", "Machine", "ProxmoxMachine"]
        assert found.causes[0].weight is Weight.HELD

    _play_town(Shop(), scenario)


def test_a_part_of_a_machine_that_somebody_deleted_is_named_with_who_made_it() -> None:
    async def scenario(lab: Lab) -> None:
        simulated = Simulated("demo", lab.namespace, workers=1)
        await lab.create(*simulated.manifests())
        await lab.available("demo")
        host, machine = simulated.control_plane(7)
        machine["metadata"]["labels"].pop("cluster.x-k8s.io/control-plane")
        await lab.create(machine)
        name = host["metadata"]["name"]
        found, told = await _until(lab, f"machine/{name}", f"names SimulatedMachine {name} in .spec.infrastructureRef")
        assert found.causes[0].weight is Weight.HELD
        assert "You make it: create SimulatedMachine" in told
        (worker,) = [each for each in await lab.workers() if each.metadata.name != name]
        await lab.delete("SimulatedMachine", worker.metadata.name)
        _, told = await _until(lab, f"machine/{worker.metadata.name}", "which does not exist")
        assert "so somebody deleted it" in told

    play_embedded(scenario)


def test_a_health_check_that_does_not_remediate_is_named() -> None:
    async def scenario(lab: Lab) -> None:
        faults = {"startupSeconds": 1, "faults": [{"stage": "Run", "mode": "KubeletDead"}]}
        simulated = Simulated("demo", lab.namespace, workers=2)
        check = {
            "apiVersion": CLUSTER_API,
            "kind": "MachineHealthCheck",
            "metadata": {"name": "demo-check", "namespace": lab.namespace},
            "spec": {
                "clusterName": "demo",
                "selector": {"matchLabels": {DEPLOYMENT_NAME: "demo-workers"}},
                "checks": {"unhealthyNodeConditions": [{"type": "Ready", "status": "Unknown", "timeoutSeconds": 30}]},
                "remediation": {"triggerIf": {"unhealthyLessThanOrEqualTo": 0}},
            },
        }
        await lab.create(*simulated.manifests(), check)
        await lab.available("demo")
        for each in await lab.all("SimulatedMachine"):
            if "workers" in each.metadata.name:
                await lab.merge("SimulatedMachine", each.metadata.name, {"spec": faults})
        found, told = await _until(lab, "cluster/demo", "2 Machines")
        kinds = {each.deepest.kind for each in found.causes}
        assert "MachineHealthCheck" in kinds
        assert "remediation.triggerIf" in told
        assert "2 Machines" in told

    play_embedded(scenario)


def test_a_drain_that_a_budget_forbids_is_named_with_the_budget() -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        (machine,) = await lab.running(1)
        client, node = lab.tenant("demo"), machine.status.node_ref.name
        spec = {"nodeName": node, "containers": [{"name": "c", "image": "busybox"}]}
        labelled = {"name": "guarded", "namespace": "default", "labels": {"app": "guarded"}}
        await client.create(PODS, {"metadata": labelled, "spec": spec})
        budget = {"minAvailable": 1, "selector": {"matchLabels": {"app": "guarded"}}}
        await client.create(BUDGETS, {"metadata": {"name": "guard", "namespace": "default"}, "spec": budget})
        await asyncio.sleep(30)
        await lab.delete("Machine", machine.metadata.name)
        found, told = await _until(lab, f"machine/{machine.metadata.name}", "PodDisruptionBudget")
        assert found.causes[0].weight is Weight.HELD
        assert "default/guarded" in told
        assert "nodeDrainTimeoutSeconds" in told
        _, told = await _until(lab, "cluster/demo", "PodDisruptionBudget")
        assert f"because Machine {machine.metadata.name} is being deleted" in told

    play_embedded(scenario)


def test_a_paused_cluster_says_so_before_anything_else() -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        await lab.merge("Cluster", "demo", {"spec": {"paused": True}})
        await lab.merge("MachineDeployment", "demo-workers", {"spec": {"replicas": 3}})
        await asyncio.sleep(120)
        found, told = await _until(lab, "cluster/demo", "is paused")
        assert found.causes[0].headline.startswith("Cluster demo is paused (spec.paused is true)")
        assert '{"spec":{"paused":false}}' in told
        _, told = await _until(lab, "md/demo-workers", "is paused")

    play_embedded(scenario)


def test_a_deletion_that_waits_names_the_finalizer_or_the_hook() -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        (machine,) = await lab.running(1)
        name = machine.metadata.name
        hook = f"{PRE_TERMINATE_DELETE_HOOK_PREFIX}/backup"
        await lab.annotate("Machine", name, **{hook: "somebody"})
        await lab.hold("SimulatedCluster", "demo", "example.com/billing")
        await lab.delete("Machine", name)
        _, told = await _until(lab, f"machine/{name}", hook)
        assert "Whoever set the annotation removes it" in told
        await lab.delete("Cluster", "demo")
        await lab.annotate("Machine", name, **{hook: None})
        found, told = await _until(lab, "cluster/demo", "example.com/billing")
        assert _chain(found) == ["Cluster", "SimulatedCluster"]
        assert "which no controller of Nagaya sets" in told
        await lab.release("SimulatedCluster", "demo", "example.com/billing")
        await lab.gone("demo")

    play_embedded(scenario)


def test_controllers_that_do_not_run_are_named() -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        await lab.plane.stop()
        await lab.merge("MachineDeployment", "demo-workers", {"spec": {"replicas": 2}})
        await asyncio.sleep(120)
        found, told = await _until(lab, "cluster/demo", "Nobody seems to look after MachineDeployment demo-workers")
        assert "generation 2, seen 1" in told
        assert "Start the controllers" in told
        spec = {
            "holderIdentity": "host_1",
            "leaseDurationSeconds": 15,
            "renewTime": "2026-01-01T00:00:00.000000Z",
        }
        content = {"metadata": {"name": "nagaya-controllers", "namespace": "default"}, "spec": spec}
        await lab.client.create(LEASES, content)
        found, told = await _until(lab, "md/demo-workers", "Nagaya's controllers do not run: host_1 held the lease")
        assert found.causes[0].weight is Weight.HELD
        await lab.plane.start()

    play_embedded(scenario)


def test_words_that_mean_nothing_are_answered_with_what_comes_near() -> None:
    async def scenario(lab: Lab) -> None:
        await lab.create(*Simulated("demo", lab.namespace, workers=1).manifests())
        await lab.available("demo")
        for what, words in (
            ("cluster/dmeo", "There is no Cluster dmeo in namespace default. Did you mean demo?"),
            ("machnie/x", "Did you mean machine"),
            ("md/demo", "There is no MachineDeployment demo in namespace default. Did you mean demo-workers?"),
        ):
            with pytest.raises(NotMeant, match=re.escape(words)):
                await explained(lab, what)
        machine = (await lab.all("Machine"))[0].metadata.name
        for word in ("machine", "Machine", "machines", "ma", "machines.cluster.x-k8s.io"):
            assert (await explained(lab, f"{word}/{machine}"))[0].kind == "Machine"

    play_embedded(scenario)
