"""Templates that machines are to be made from."""

from __future__ import annotations

from typing import Any

from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS, ProxmoxCluster
from nagaya.api.proxmox.proxmox_machine_spec import ProxmoxMachineSpec
from nagaya.infrastructure.proxmox.machine_template.availability import Available, Use
from nagaya.insight.checkup.finding import Standing, Subject
from nagaya.insight.checkup.objects import Objects
from nagaya.insight.checkup.templates import templates, uses
from nagaya.insight.picture.member import member
from unit.insight.scene import CORE, Scene, reference

USE = Use("MachineDeployment default/demo-workers", ProxmoxMachineSpec(network=None))  # type: ignore[arg-type]
PROXMOX = "infrastructure.cluster.x-k8s.io/v1alpha2"


def cluster(**spec: Any) -> ProxmoxCluster:
    owners = [{"apiVersion": CORE, "kind": "Cluster", "name": "demo", "uid": "u"}]
    return PROXMOX_CLUSTERS.convert(
        {"metadata": {"name": "demo-pve", "namespace": "default", "ownerReferences": owners}, "spec": spec}
    )


def objects() -> Objects:
    scene = Scene()
    network = {"networkDevices": [{"name": "net0", "bridge": "vmbr0"}]}
    content = {"template": {"spec": {"network": network, "templateSelector": {"matchTags": ["debian"]}}}}
    scene.add("ProxmoxMachineTemplate", "workers", version=PROXMOX, spec=content)
    machines = {"version": "v1.36.3", "infrastructureRef": reference("ProxmoxMachineTemplate", "workers")}
    made = {"clusterName": "demo", "template": {"spec": machines}}
    scene.add("MachineDeployment", "demo-workers", version=CORE, spec=made)
    scene.add("MachineDeployment", "others", version=CORE, labels={}, spec={**made, "clusterName": "other"})
    lost = {"version": "v1.36.3", "infrastructureRef": reference("ProxmoxMachineTemplate", "nowhere")}
    scene.add("MachineDeployment", "lost", version=CORE, spec={"clusterName": "demo", "template": {"spec": lost}})
    plane = {"version": "v1.36.4", "machineTemplate": {"spec": {"infrastructureRef": machines["infrastructureRef"]}}}
    scene.add("KubeadmControlPlane", "demo", version="controlplane.cluster.x-k8s.io/v1beta2", spec=plane)
    return Objects([member(each) for each in scene.objects])


def test_deployments_and_control_planes_of_a_cluster_need_templates() -> None:
    found = {each.who: each for each in uses(objects(), [cluster(allowedNodes=["pve1"])])}
    assert {who: each.version for who, each in found.items()} == {
        "MachineDeployment default/demo-workers": "v1.36.3",
        "KubeadmControlPlane default/demo": "v1.36.4",
    }
    assert {each.allowed for each in found.values()} == {frozenset({"pve1"})}


def judged(**given: Any) -> tuple[Standing, str]:
    (found,) = templates(Subject("ProxmoxConnection default/pve"), [Available(USE, **given)])
    return found.standing, found.evidence


def test_what_is_said_of_a_template() -> None:
    assert judged(hosts=("pve1", "pve2")) == (Standing.OK, "Machines can be made on pve1, pve2.")
    assert judged(missing="no template has the tags x") == (Standing.PROBLEM, "No template has the tags x.")
    standing, evidence = judged(hosts=("pve1",), lacking={"pve2": "template 9001 is not on pve2"})
    assert standing is Standing.WARNING
    assert evidence == "Only pve1 can make machines from it. pve2: template 9001 is not on pve2."
    assert judged(lacking={"pve2": "x"})[0] is Standing.PROBLEM
    assert judged()[0] is Standing.WARNING
