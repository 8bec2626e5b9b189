"""L1 to L8: whether and where pods are scheduled. Each test spoils one thing of a correct cluster."""

from __future__ import annotations

import yaml

from nagaya.cloud.lint.finding import Severity
from unit.cloud.lint.building import Cluster

UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized"
NOT_READY = "node.kubernetes.io/not-ready"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
READY_NODE = f"""
apiVersion: v1
kind: Node
metadata: {{name: cp-0, labels: {{{CONTROL_PLANE}: ""}}}}
spec: {{taints: [{{key: {CONTROL_PLANE}, effect: NoSchedule}}]}}
status: {{conditions: [{{type: Ready, status: "True"}}]}}
"""


def test_without_the_toleration_of_new_nodes_nothing_is_ever_initialised() -> None:
    cluster = Cluster()
    cluster.tolerate_less(UNINITIALIZED)

    assert cluster.said() == ["L1 error"]
    found = cluster.only("L1")
    assert (found.subject, found.path) == (f"{UNINITIALIZED}=true:NoSchedule", "spec.template.spec.tolerations")
    assert f"- key: {UNINITIALIZED}\n  operator: Exists\n  effect: NoSchedule" in found.fix


def test_the_lines_of_a_fix_mend_what_they_are_for() -> None:
    cluster = Cluster()
    cluster.pod["tolerations"] = []
    for _ in range(5):
        for each in cluster.findings():
            if each.path.endswith(".tolerations"):
                cluster.pod["tolerations"] += yaml.safe_load(each.fix)["tolerations"]

    assert cluster.said() == []


def test_a_toleration_with_another_value_does_not_help() -> None:
    cluster = Cluster()
    cluster.tolerate_less(UNINITIALIZED)
    cluster.pod["tolerations"].append({"key": UNINITIALIZED, "value": "yes", "effect": "NoSchedule"})

    assert cluster.said() == ["L1 error"]


def test_kubelets_that_do_not_wait_for_a_cloud_have_no_such_taint() -> None:
    cluster = Cluster()
    cluster.tolerate_less(UNINITIALIZED)
    for each in cluster.registrations():
        each["kubeletExtraArgs"] = []

    assert cluster.said() == ["L16 warning"]


def test_a_static_pod_asks_no_scheduler() -> None:
    cluster = Cluster()
    spec = {**cluster.pod, "tolerations": [], "volumes": []}
    del spec["serviceAccountName"], spec["nodeSelector"]
    cluster.drop("Deployment")
    cluster.objects.append({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ccm"}, "spec": spec})

    assert cluster.said() == []


def test_a_node_that_is_ready_already_makes_it_less_urgent() -> None:
    cluster = Cluster()
    cluster.tolerate_less(UNINITIALIZED)
    cluster.add(READY_NODE)

    found = cluster.only("L1")

    assert found.severity is Severity.WARNING
    assert "It runs today" in found.why


def test_a_ready_node_that_it_does_not_select_helps_nothing() -> None:
    cluster = Cluster()
    cluster.tolerate_less(UNINITIALIZED)
    cluster.add(READY_NODE.replace(f'{{{CONTROL_PLANE}: ""}}', "{some: other}"))

    assert cluster.said() == ["L1 error"]


def test_on_workers_the_taint_of_cluster_api_must_be_tolerated_too() -> None:
    cluster = Cluster()
    del cluster.pod["nodeSelector"]
    cluster.tolerate_less(CONTROL_PLANE)

    assert cluster.said() == ["L4 error"]  # as little is missing on either; the control plane is named first

    cluster.drop("KubeadmControlPlane")
    cluster.add("{apiVersion: controlplane.cluster.x-k8s.io/v1alpha1, kind: HostedControlPlane, metadata: {name: lab}}")
    assert "L1b error" in cluster.said()


def test_kubelets_that_know_their_identifier_are_found_without_a_cloud_controller_manager() -> None:
    cluster = Cluster()
    del cluster.pod["nodeSelector"]
    cluster.tolerate_less(CONTROL_PLANE)
    cluster.registrations()[2]["kubeletExtraArgs"].append({"name": "provider-id", "value": "lab://1"})

    assert cluster.said() == []


def test_without_the_toleration_of_not_ready_it_depends_on_the_pod_network() -> None:
    cluster = Cluster()
    cluster.tolerate_less(NOT_READY)
    assert cluster.said() == ["L2 warning"]

    cluster.without_addresses()
    assert cluster.said() == ["L2 error", "L14 error", "L14 error", "L14 error", "L21 warning", "L21 warning"]

    cluster.drop("DaemonSet")
    assert "L2 warning" in cluster.said()


def test_a_daemonset_tolerates_eviction_but_not_new_nodes() -> None:
    cluster = Cluster()
    cluster.cloud["kind"] = "DaemonSet"
    cluster.objects.insert(0, cluster.objects.pop())
    daemon = next(
        each for each in cluster.objects if each["metadata"]["name"] == "cloud-controller-manager" and "spec" in each
    )
    daemon["spec"]["template"]["spec"]["tolerations"] = [
        {"key": CONTROL_PLANE, "operator": "Exists"},
        {"key": UNINITIALIZED, "operator": "Exists"},
    ]

    assert cluster.said() == ["L2 warning"]


def test_a_toleration_that_ends_at_once_is_none() -> None:
    cluster = Cluster()
    cluster.pod["tolerations"][-1]["tolerationSeconds"] = 0
    assert cluster.said() == ["L3 error"]

    cluster.pod["tolerations"][-1]["tolerationSeconds"] = 20
    assert cluster.said() == ["L3 warning"]


def test_the_taint_of_the_selected_nodes_must_be_tolerated() -> None:
    cluster = Cluster()
    cluster.tolerate_less(CONTROL_PLANE)

    assert cluster.said() == ["L4 error"]


def test_control_plane_nodes_may_be_registered_without_a_taint_or_with_others() -> None:
    cluster = Cluster()
    cluster.tolerate_less(CONTROL_PLANE)
    for each in cluster.registrations()[:2]:
        each["taints"] = []
    assert cluster.said() == []

    for each in cluster.registrations()[:2]:
        each["kubeletExtraArgs"].append({"name": "register-with-taints", "value": "team=a:NoSchedule"})
    assert cluster.said() == ["L4 error"]
    assert cluster.only("L4").subject == "team=a:NoSchedule"


def test_taints_of_the_kubelets_configuration_file_are_on_every_node() -> None:
    cluster = Cluster()
    cluster.add("""
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
registerWithTaints: [{key: team, value: a, effect: NoSchedule}]
""")

    assert cluster.said() == ["L4 error"]


def test_what_is_not_known_of_kubelets_is_said() -> None:
    cluster = Cluster()
    cluster.tolerate_less(NOT_READY)
    cluster.drop("KubeadmControlPlane")
    cluster.drop("KubeadmConfigTemplate")

    assert cluster.said() == ["L2 warning"]
    assert "Cilium waits for internal addresses of nodes unless kubelets have --node-ip" in cluster.only("L2").why


def test_labels_that_only_the_cloud_sets_cannot_be_selected() -> None:
    cluster = Cluster()
    cluster.pod["nodeSelector"] = {"topology.kubernetes.io/zone": "a"}

    assert cluster.said() == ["L5 error"]
    assert "its own work" in cluster.only("L5").why


def test_labels_that_the_kubelet_is_given_can_be_selected() -> None:
    cluster = Cluster()
    cluster.pod["nodeSelector"] = {"topology.kubernetes.io/zone": "a"}
    cluster.registrations()[0]["kubeletExtraArgs"].append(
        {"name": "node-labels", "value": "topology.kubernetes.io/zone=a"}
    )

    assert cluster.said() == []


def test_the_old_label_of_control_plane_nodes_selects_none() -> None:
    cluster = Cluster()
    cluster.pod["nodeSelector"] = {"node-role.kubernetes.io/master": ""}

    assert cluster.said() == ["L5 error"]


def test_with_a_hosted_control_plane_there_are_no_control_plane_nodes() -> None:
    cluster = Cluster()
    cluster.drop("KubeadmControlPlane")
    cluster.add("{apiVersion: controlplane.cluster.x-k8s.io/v1alpha1, kind: HostedControlPlane, metadata: {name: lab}}")

    assert cluster.said() == ["L5 error", "L25 info"]


def test_a_label_of_ones_own_may_well_exist() -> None:
    cluster = Cluster()
    cluster.pod["nodeSelector"] = {"example.com/infra": "true"}

    assert cluster.said() == []


def test_needing_the_pod_network_is_an_error_only_if_that_waits() -> None:
    cluster = Cluster()
    cluster.pod["hostNetwork"] = False
    assert cluster.said() == ["L6 warning"]

    cluster.network["tolerations"] = [
        {"key": NOT_READY, "operator": "Exists"},
        {"key": CONTROL_PLANE, "operator": "Exists"},
    ]
    assert "L6 error" in cluster.said()
    assert "L13 error" in cluster.said()


def test_more_replicas_than_nodes_stay_pending_and_may_block_every_rollout() -> None:
    cluster = Cluster()
    cluster.get("KubeadmControlPlane")["spec"]["replicas"] = 1
    assert cluster.said() == ["L7 warning"]

    cluster.cloud["spec"]["strategy"] = {"type": "RollingUpdate"}
    assert cluster.said() == ["L7 error"]


def test_a_rollout_needs_a_node_more_than_there_are_replicas() -> None:
    cluster = Cluster()
    cluster.cloud["spec"] |= {"strategy": {"type": "RollingUpdate"}, "replicas": 3}
    assert cluster.said() == ["L7 warning"]
    assert cluster.only("L7").path == "spec.strategy"

    cluster.cloud["spec"]["replicas"] = 2
    assert cluster.said() == []


def test_replicas_that_nothing_keeps_apart_want_the_same_port() -> None:
    cluster = Cluster()
    del cluster.pod["affinity"]
    assert cluster.said() == []  # three nodes, two replicas: the port is not on one node for certain

    cluster.get("KubeadmControlPlane")["spec"]["replicas"] = 1
    assert cluster.said() == ["L8 warning"]
    assert "port 10258" in cluster.only("L8").subject


def test_a_port_of_the_control_plane_is_taken() -> None:
    cluster = Cluster()
    cluster.arguments.append("--secure-port=10257")

    assert cluster.said() == ["L8 error"]
    assert "kube-controller-manager" in cluster.only("L8").why


def test_two_daemonsets_with_one_port_meet_on_every_node() -> None:
    cluster = Cluster("vsphere-daemonset", "aws-daemonset")

    assert "L8 error" in cluster.said()
