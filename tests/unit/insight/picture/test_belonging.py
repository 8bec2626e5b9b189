"""Which objects are a Cluster's."""

from __future__ import annotations

from nagaya.api.meta import ObjectMeta
from unit.insight.scene import CORE, LABEL, Scene, reference


def titles(scene: Scene) -> list[str]:
    return [each.title for each in scene.picture().members]


def test_what_is_labelled_owned_or_named_belongs() -> None:
    scene = Scene()
    scene.cluster(spec={"controlPlaneRef": reference("ForeignPlane", "demo", "controlplane.example.com")})
    plane = scene.add("ForeignPlane", "demo", version="controlplane.example.com/v1", labels={})
    scene.add("ForeignThing", "below", owner=plane, labels={})
    scene.add("Machine", "by-field", version=CORE, labels={}, spec={"clusterName": "demo"})
    assert titles(scene) == [
        "Cluster demo",
        "ForeignPlane demo",
        "ForeignThing below",
        "Machine by-field",
        "SimulatedCluster demo",
    ]


def test_objects_of_another_cluster_do_not() -> None:
    scene = Scene()
    scene.cluster()
    other = scene.add("Cluster", "other", version=CORE, labels={})
    scene.add("Machine", "theirs", version=CORE, owner=other, labels={LABEL: "other"})
    scene.add("Machine", "elsewhere", version=CORE, namespace="team-b")
    assert titles(scene) == ["Cluster demo", "SimulatedCluster demo"]


def test_a_pool_that_is_shared_brings_no_addresses_of_others() -> None:
    scene = Scene()
    scene.cluster()
    pool = scene.add("InClusterIPPool", "pool", version="ipam.cluster.x-k8s.io/v1alpha2", labels={})
    named = {"poolRef": reference("InClusterIPPool", "pool", "ipam.cluster.x-k8s.io")}
    scene.add("IPAddressClaim", "ours", version="ipam.cluster.x-k8s.io/v1beta2", spec=named)
    scene.add("IPAddress", "theirs", version="ipam.cluster.x-k8s.io/v1beta2", owner=pool, labels={LABEL: "other"})
    assert "InClusterIPPool pool" in titles(scene)
    assert "IPAddress theirs" not in titles(scene)


def test_a_reservation_belongs_by_the_machine_that_it_is_for() -> None:
    scene = Scene()
    scene.cluster()
    host = scene.add("ProxmoxMachine", "a")
    scene.add("ProxmoxVirtualMachine", "lab-100", namespace="", spec={"machineRef": {"uid": host.metadata.uid}})
    scene.add("ProxmoxVirtualMachine", "lab-101", namespace="", spec={"machineRef": {"uid": "another"}})
    assert "ProxmoxVirtualMachine lab-100" in titles(scene)
    assert "ProxmoxVirtualMachine lab-101" not in titles(scene)


def test_a_reference_that_leads_nowhere_is_remembered() -> None:
    scene = Scene()
    scene.cluster(spec={"controlPlaneRef": reference("KubeadmControlPlane", "demo", "controlplane.cluster.x-k8s.io")})
    (missing,) = scene.picture().missing
    assert str(missing) == (
        "Cluster demo names KubeadmControlPlane default/demo in .spec.controlPlaneRef, which does not exist"
    )


def test_events_of_machines_that_are_gone_are_known_by_their_name() -> None:
    scene = Scene()
    cluster = scene.cluster()
    scene.deployment()
    gone = Scene().add("Machine", "demo-workers-x-abcde", version=CORE)
    strange = Scene().add("Machine", "other-machine", version=CORE)
    for each in (cluster, gone, strange):
        scene.event(each, "Told", f"of {each.metadata.name} something", 1)
    assert [each.name for each in scene.picture().events] == ["demo", "demo-workers-x-abcde"]


def test_secrets_are_those_with_the_label_in_the_namespace() -> None:
    scene = Scene()
    scene.cluster()
    for namespace, name, cluster in (("default", "ours", "demo"), ("default", "a", "other"), ("team-b", "b", "demo")):
        scene.secrets.append(ObjectMeta(namespace=namespace, name=name, labels={LABEL: cluster}))
    assert scene.picture().secrets == {"ours"}


def test_conditions_that_cannot_be_read_hide_nothing_else() -> None:
    scene = Scene()
    scene.cluster()
    broken = scene.add("ForeignMachine", "broken")
    broken.raw["status"]["conditions"] = [{"type": "Ready", "status": "Maybe"}]
    (found,) = (each for each in scene.picture().members if each.name == "broken")
    assert found.conditions == ()
    assert "must be one of True, False, Unknown" in found.unreadable
