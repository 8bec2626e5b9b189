"""Objects inside of objects."""

from __future__ import annotations

from nagaya.api.conversion import manifests as documents
from unit.cloud.lint.building import Cluster, manifests_of


def test_what_a_cluster_resource_set_applies_is_looked_at() -> None:
    cluster = Cluster()
    text = documents.write(manifests_of("article-deployment"))
    cluster.objects = [
        {
            "apiVersion": "addons.cluster.x-k8s.io/v1beta2",
            "kind": "ClusterResourceSet",
            "metadata": {"name": "ccm"},
            "spec": {"resources": [{"kind": "ConfigMap", "name": "ccm"}, {"kind": "Secret", "name": "more"}]},
        },
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "ccm"}, "data": {"ccm.yaml": text}},
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "more"}, "data": {"broken": "%%%", "no": "Zm9v"}},
    ]

    assert "L4 error" in cluster.said()
    assert cluster.only("L4").source == "ConfigMap default/ccm, key ccm.yaml"


def test_a_config_map_that_nothing_applies_is_only_data() -> None:
    cluster = Cluster()
    text = documents.write(manifests_of("article-deployment"))
    cluster.objects = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"a": text}}]

    assert cluster.said() == []


def test_static_pods_in_boot_files_are_looked_at() -> None:
    cluster = Cluster()
    pod = {**cluster.pod, "tolerations": [], "volumes": []}
    for name in ("serviceAccountName", "nodeSelector"):
        del pod[name]
    cluster.drop("Deployment")
    assert cluster.said() == ["L16 error"]

    content = documents.write([{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ccm"}, "spec": pod}])
    files = [{"path": "/etc/kubernetes/manifests/ccm.yaml", "content": content}]
    cluster.get("KubeadmControlPlane")["spec"]["kubeadmConfigSpec"]["files"] = files
    assert cluster.said() == []


def test_kubeadms_configuration_in_a_running_cluster_is_read() -> None:
    cluster = Cluster("vsphere-daemonset")
    cluster.add("""
apiVersion: v1
kind: ConfigMap
metadata: {name: kubeadm-config, namespace: kube-system}
data:
  ClusterConfiguration: |
    apiVersion: kubeadm.k8s.io/v1beta4
    kind: ClusterConfiguration
    controllerManager: {extraArgs: [{name: cloud-provider, value: vsphere}]}
""")

    assert cluster.said() == ["L16 error"]
