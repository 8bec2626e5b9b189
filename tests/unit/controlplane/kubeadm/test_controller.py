from __future__ import annotations

from typing import Any

import msgspec
import pytest

from nagaya.api.bootstrap.kubeadm_config import KUBEADM_CONFIGS
from nagaya.api.cluster.cluster import CLUSTERS
from nagaya.api.cluster.machine import MACHINES
from nagaya.api.controlplane.kubeadm_control_plane import KUBEADM_CONTROL_PLANES
from nagaya.kube.key import Key
from nagaya.kube.patches import Merge
from unit.controlplane.kubeadm.bridge import HARBOUR, KEY, NAMESPACE, Bridge
from unit.controlplane.kubeadm.examples import TEMPLATES

pytestmark = pytest.mark.slow
HOOK = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup"


async def test_a_first_machine_is_made_with_its_objects(bridge: Bridge) -> None:
    await bridge.declare()
    (machine,) = await bridge.machines()
    (config,) = await bridge.configs()
    (host,) = await bridge.hosts()
    assert bridge.certificates.made == ["authorities", "kubeconfig"]
    assert machine.metadata.name == config.metadata.name == host.metadata.name
    assert machine.metadata.name.startswith("bridge-")
    assert machine.metadata.annotations == {HOOK: ""}
    assert config.spec.join_configuration.control_plane is None
    assert host.at("spec", "size") == 3
    assert host.metadata.labels["from"] == "template"
    assert host.metadata.annotations["cluster.x-k8s.io/cloned-from-name"] == "boat"
    template = await bridge.user.get(TEMPLATES, NAMESPACE, "boat")
    assert [each.kind for each in template.metadata.owner_references] == ["Cluster"]
    kcp = await bridge.kcp()
    assert kcp.metadata.finalizers == ("kubeadm.controlplane.cluster.x-k8s.io",)
    assert kcp.status.replicas == 1
    assert (await bridge.conditions())["ScalingUp"] == "True"


async def test_three_machines_come_up_one_after_the_other(bridge: Bridge) -> None:
    await bridge.declare()
    await bridge.bring_all_up()
    kcp = await bridge.kcp()
    assert (kcp.status.replicas, kcp.status.up_to_date_replicas, kcp.status.ready_replicas) == (3, 3, 3)
    assert kcp.status.initialization.control_plane_initialized is True
    conditions = await bridge.conditions()
    assert conditions["Available"] == conditions["EtcdClusterHealthy"] == "True"
    assert conditions["ControlPlaneComponentsHealthy"] == "True"
    joined = [each.spec.join_configuration.control_plane is not None for each in await bridge.configs()]
    assert sorted(joined) == [False, True, True]


async def test_nothing_is_written_when_nothing_changes(bridge: Bridge) -> None:
    await bridge.declare(1)
    await bridge.bring_all_up()
    await bridge.look()
    await bridge.look()
    before = len(bridge.writes)
    await bridge.look()
    assert bridge.writes[before:] == []


async def test_a_machine_costs_few_writes(bridge: Bridge) -> None:
    await bridge.declare(3)
    await bridge.bring_all_up()
    await bridge.look()
    for machine in await bridge.machines():
        name = machine.metadata.name
        # Two objects, the machine, what is told of it on its way, and when its certificates end.
        assert len([each for each in bridge.writes if name in each]) <= 8, bridge.writes


async def test_the_end_of_certificates_is_noted_once(bridge: Bridge) -> None:
    await bridge.declare(1)
    await bridge.bring_all_up()
    await bridge.look()
    (config,) = await bridge.configs()
    assert config.metadata.annotations["machine.cluster.x-k8s.io/certificates-expiry"] == "2030-01-02T03:04:05Z"
    asked = [each for each in bridge.tenant.calls if each.startswith("certificate of")]
    assert len(asked) == 1


async def test_a_version_rolls_all_machines(bridge: Bridge) -> None:
    await bridge.declare(1)
    await bridge.bring_all_up()
    (old,) = await bridge.machines()
    await bridge.change({"spec": {"version": "v1.37.0"}})
    assert "update kubeadm-config to v1.37.0" in bridge.tenant.calls
    assert (await bridge.conditions())["RollingOut"] == "True"
    await bridge.bring_all_up()
    name = old.metadata.name
    leaving = await bridge.user.get(MACHINES, NAMESPACE, name)
    assert leaving.metadata.deleting
    assert any(each.startswith(f"move leader from {name}") for each in bridge.tenant.calls)
    await bridge.drain(name)
    assert f"remove member {name}" in bridge.tenant.calls
    assert HOOK not in (await bridge.user.get(MACHINES, NAMESPACE, name)).metadata.annotations
    await bridge.finish(name)
    await bridge.look()
    (new,) = await bridge.machines()
    assert new.spec.version == "v1.37.0"
    assert (await bridge.conditions())["RollingOut"] == "False"


async def test_a_leader_that_does_not_hand_over_keeps_its_machine(bridge: Bridge) -> None:
    await bridge.declare(1)
    await bridge.bring_all_up()
    bridge.tenant.refuses = "move leader"
    await bridge.change({"spec": {"version": "v1.37.0"}})
    await bridge.bring_all_up()
    assert not any(each.metadata.deleting for each in await bridge.machines())
    assert "no answer" in bridge.manager.controllers[0].errors[KEY]


async def test_changes_in_place_reach_machines_and_what_is_dropped_goes(bridge: Bridge) -> None:
    await bridge.declare(1)
    await bridge.bring_all_up()
    (machine,) = await bridge.machines()
    mine = Merge({"metadata": {"labels": {"mine": "too"}}})
    await bridge.user.patch(MACHINES, NAMESPACE, machine.metadata.name, mine)
    labelled = {"metadata": {"labels": {"deck": "upper"}}, "spec": {"deletion": {"nodeDrainTimeoutSeconds": 9}}}
    await bridge.change({"spec": {"machineTemplate": labelled}})
    (machine,) = await bridge.machines()
    (config,) = await bridge.configs()
    (host,) = await bridge.hosts()
    assert machine.metadata.labels["deck"] == config.metadata.labels["deck"] == host.metadata.labels["deck"] == "upper"
    assert machine.spec.deletion.node_drain_timeout_seconds == 9
    await bridge.change({"spec": {"machineTemplate": {"metadata": None, "spec": {"deletion": None}}}})
    (machine,) = await bridge.machines()
    (config,) = await bridge.configs()
    (host,) = await bridge.hosts()
    assert "deck" not in machine.metadata.labels
    assert "deck" not in config.metadata.labels
    assert "deck" not in host.metadata.labels
    assert machine.metadata.labels["mine"] == "too"
    assert host.metadata.labels["from"] == "template"
    assert machine.spec.deletion.node_drain_timeout_seconds is None
    assert config.metadata.annotations["machine.cluster.x-k8s.io/certificates-expiry"]


async def test_what_cannot_be_finished_is_taken_back(bridge: Bridge) -> None:
    bridge.transport.refuse = "PATCH machines/"
    await bridge.declare(1)
    await bridge.look()
    (machine,) = await bridge.machines()
    assert [each.metadata.name for each in await bridge.configs()] == [machine.metadata.name]
    assert [each.metadata.name for each in await bridge.hosts()] == [machine.metadata.name]
    taken_back = [each for each in bridge.writes if each.startswith("DELETE")]
    assert len(taken_back) == 2


async def test_a_lost_answer_makes_no_second_machine(bridge: Bridge) -> None:
    bridge.transport.lose = "PATCH machines/"
    await bridge.declare(1)
    await bridge.look()
    assert len(await bridge.machines()) == len(await bridge.configs()) == len(await bridge.hosts()) == 1


async def test_what_a_crash_left_behind_goes(bridge: Bridge) -> None:
    await bridge.declare(1)
    kcp = await bridge.kcp()
    owner = {"apiVersion": KUBEADM_CONTROL_PLANES.api_version, "kind": "KubeadmControlPlane", "name": "bridge"}
    content = {
        "metadata": {
            "name": "left-over",
            "namespace": NAMESPACE,
            "labels": {"cluster.x-k8s.io/cluster-name": HARBOUR, "cluster.x-k8s.io/control-plane": ""},
            "ownerReferences": [{**owner, "uid": kcp.metadata.uid}],
        }
    }
    await bridge.user.create(KUBEADM_CONFIGS, content)
    await bridge.idle()
    await bridge.look()
    assert "left-over" not in {each.metadata.name for each in await bridge.configs()}


async def test_a_paused_control_plane_is_left_alone(bridge: Bridge) -> None:
    await bridge.user.patch(CLUSTERS, NAMESPACE, HARBOUR, Merge({"spec": {"paused": True}}))
    await bridge.declare()
    assert await bridge.machines() == []
    assert (await bridge.conditions()) == {"Paused": "True"}
    await bridge.user.patch(CLUSTERS, NAMESPACE, HARBOUR, Merge({"spec": {"paused": None}}))
    await bridge.idle()
    assert len(await bridge.machines()) == 1
    assert (await bridge.conditions())["Paused"] == "False"


async def test_what_was_told_stays_told_during_a_pause(bridge: Bridge) -> None:
    await bridge.declare(1)
    await bridge.bring_all_up()
    before = (await bridge.kcp()).status
    await bridge.user.patch(CLUSTERS, NAMESPACE, HARBOUR, Merge({"spec": {"paused": True}}))
    await bridge.idle()
    paused = (await bridge.kcp()).status
    assert (await bridge.conditions())["Paused"] == "True"
    assert before.replicas == before.ready_replicas == 1
    assert msgspec.structs.replace(paused, conditions=before.conditions) == before


async def test_an_unhealthy_machine_is_replaced_and_the_replacement_remembers(bridge: Bridge) -> None:
    await bridge.declare()
    await bridge.bring_all_up()
    sick = (await bridge.machines())[0]
    name = sick.metadata.name
    now = "2026-11-01T12:00:00Z"
    conditions = [
        {"type": each, "status": "False", "reason": each, "message": "", "lastTransitionTime": now}
        for each in ("HealthCheckSucceeded", "OwnerRemediated")
    ]
    kept = [msgspec.to_builtins(each) for each in sick.status.conditions]
    told = Merge({"status": {"conditions": [*kept, *conditions]}})
    await bridge.user.patch(MACHINES, NAMESPACE, name, told, subresource="status")
    await bridge.idle()
    sick = await bridge.user.get(MACHINES, NAMESPACE, name)
    assert sick.metadata.deleting
    remark = next(each for each in sick.status.conditions if each.type == "OwnerRemediated")
    assert remark.reason == "MachineDeleting"
    assert any(each.type == "EtcdMemberHealthy" for each in sick.status.conditions)
    kcp = await bridge.kcp()
    assert name in kcp.metadata.annotations["controlplane.cluster.x-k8s.io/remediation-in-progress"]
    assert kcp.status.last_remediation is not None
    await bridge.drain(name)
    await bridge.finish(name)
    await bridge.look()
    new = [
        each
        for each in await bridge.machines()
        if name in each.metadata.annotations.get("controlplane.cluster.x-k8s.io/remediation-for", "")
    ]
    assert len(new) == 1
    kcp = await bridge.kcp()
    assert "controlplane.cluster.x-k8s.io/remediation-in-progress" not in kcp.metadata.annotations
    assert kcp.status.last_remediation is not None
    assert kcp.status.last_remediation.machine == name


async def test_a_control_plane_goes_with_all_its_machines(bridge: Bridge) -> None:
    await bridge.declare()
    await bridge.bring_all_up()
    await bridge.user.delete(KUBEADM_CONTROL_PLANES, NAMESPACE, "bridge")
    await bridge.idle()
    machines = await bridge.machines()
    assert all(each.metadata.deleting for each in machines)
    assert not any(HOOK in each.metadata.annotations for each in machines)
    told = {each.type: each.reason for each in (await bridge.kcp()).status.conditions}
    assert told["Deleting"] == "WaitingForMachineDeletion"
    for each in machines:
        await bridge.finish(each.metadata.name)
    await bridge.look()
    assert (await bridge.user.list(KUBEADM_CONTROL_PLANES, NAMESPACE)).items == []


async def test_nothing_is_remembered_of_a_control_plane_that_was_moved_away(bridge: Bridge) -> None:
    """Whoever moves a cluster pauses it, and removes the finalizers at the source: the controller does not take part in
    the deletion. Only memory would tell, as another control plane of this name has another uid."""
    await bridge.declare(1)
    await bridge.bring_all_up()
    reconcile: Any = bridge.manager.controllers[0]._reconcile
    assert KEY in reconcile.__self__._said
    await bridge.user.patch(CLUSTERS, NAMESPACE, HARBOUR, Merge({"spec": {"paused": True}}))
    await bridge.change({"metadata": {"finalizers": None}})
    await bridge.user.delete(KUBEADM_CONTROL_PLANES, NAMESPACE, "bridge")
    await bridge.idle()
    assert (await bridge.user.list(KUBEADM_CONTROL_PLANES, NAMESPACE)).items == []
    assert reconcile.__self__._said == {}


async def test_a_machine_that_nobody_manages_is_adopted(bridge: Bridge) -> None:
    labels = {"cluster.x-k8s.io/cluster-name": HARBOUR, "cluster.x-k8s.io/control-plane": ""}
    reference = {"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "BoatMachine", "name": "alone"}
    config = {"apiGroup": "bootstrap.cluster.x-k8s.io", "kind": "KubeadmConfig", "name": "alone"}
    await bridge.user.create(KUBEADM_CONFIGS, {"metadata": {"name": "alone", "namespace": NAMESPACE}})
    await bridge.user.create(
        MACHINES,
        {
            "metadata": {"name": "alone", "namespace": NAMESPACE, "labels": labels},
            "spec": {
                "clusterName": HARBOUR,
                "version": "v1.36.3",
                "infrastructureRef": reference,
                "bootstrap": {"configRef": config},
            },
        },
    )
    await bridge.declare(1)
    (machine,) = await bridge.machines()
    owner = machine.metadata.controller
    assert owner is not None
    assert owner.kind == "KubeadmControlPlane"
    assert machine.metadata.labels["cluster.x-k8s.io/control-plane-name"] == "bridge"


async def test_news_of_the_tenant_bring_the_controller_back(bridge: Bridge) -> None:
    await bridge.declare(1)
    await bridge.bring_all_up()
    asked = len(bridge.tenant.questions)
    bridge.tenant.changed(Key(NAMESPACE, HARBOUR))
    await bridge.idle()
    assert len(bridge.tenant.questions) == asked + 1
    bridge.tenant.changed(Key(NAMESPACE, "unknown"))
    await bridge.idle()
    assert len(bridge.tenant.questions) == asked + 1


async def test_a_tenant_that_hangs_does_not_hold_up_its_deletion(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nagaya.controlplane.kubeadm.controller.LOOK_TIMEOUT", 0.05)
    await bridge.declare(1)
    await bridge.bring_all_up()
    bridge.tenant.hangs = True
    await bridge.user.delete(KUBEADM_CONTROL_PLANES, NAMESPACE, "bridge")
    await bridge.idle()
    (machine,) = await bridge.machines()
    assert machine.metadata.deleting
    assert HOOK not in machine.metadata.annotations


async def test_what_does_not_come_to_an_end_is_told_and_tried_later(bridge: Bridge) -> None:
    bridge.certificates.useless = True
    await bridge.declare(1)
    tries = bridge.certificates.tries
    assert 0 < tries < 20
    assert await bridge.machines() == []
    assert (await bridge.conditions())["CertificatesAvailable"] == "Unknown"
