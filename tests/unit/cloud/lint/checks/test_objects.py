"""L15 and L17 to L25: images, webhooks, security, configuration, identifiers, routes, certificates, hosting."""

from __future__ import annotations

import pytest

from nagaya.cloud.lint.finding import Severity
from support.subtest_cases import subtest_cases
from unit.cloud.lint.building import Cluster


@subtest_cases(
    ("image", "expected"),
    [
        ("registry.example/a/b:v1", []),
        ("registry.example:5000/a/b:v1", []),
        ("name:v1", []),
        ("a/b@sha256:" + "0" * 64, []),
        ("a/b:v1@sha256:" + "0" * 64, []),
        ("a/b@latest", ["L15 error"]),
        ("", ["L15 error"]),
        ("A/B:v1", ["L15 error"]),
        ("a/b:", ["L15 error"]),
        ("a/b", ["L15 warning"]),
        ("a/b:latest", ["L15 warning"]),
        ("registry.kube-system.svc.cluster.local:5000/a/b:v1", ["L15 error"]),
        ("registry.tools.svc/a/b:v1", ["L15 error"]),
    ],
)
def test_an_image_must_be_one_that_a_bare_node_can_pull(image: str, expected: list[str]) -> None:
    cluster = Cluster()
    cluster.pod["containers"][0]["image"] = image

    assert cluster.said() == expected


_WEBHOOK = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{name: policy}}
webhooks:
- name: check.policy.example
  clientConfig: {{{client}}}
  {more}
  rules: [{{apiGroups: ["{group}"], apiVersions: ["*"], operations: [{operations}], resources: [{resources}]}}]
"""
_SERVICE = "service: {name: policy, namespace: policy}"
_EXCLUDES = (
    "namespaceSelector: {matchExpressions: "
    "[{key: kubernetes.io/metadata.name, operator: NotIn, values: [kube-system, kube-node-lease]}]}"
)


@subtest_cases(
    ("group", "resources", "operations", "client", "more", "expected"),
    [
        ("", "pods", "CREATE", _SERVICE, "", ["L17 error"]),
        ("", "pods", "CREATE", _SERVICE, _EXCLUDES, []),
        ("", "pods", "CREATE", _SERVICE, "failurePolicy: Ignore", []),
        ("", "pods", "DELETE", _SERVICE, "", []),
        ("", "pods", "UPDATE", _SERVICE, "", []),
        ("", "'pods/*'", "CREATE", _SERVICE, "", []),  # that is the parts of pods, not pods
        ("", "'nodes/*'", "UPDATE", _SERVICE, "", ["L17 error"]),
        ("", "pods", "CREATE", "url: 'https://10.0.0.9/check'", "", []),
        ("", "nodes", "'*'", _SERVICE, _EXCLUDES, ["L17 error"]),  # nodes are in no namespace
        ("", "nodes/status", "UPDATE", _SERVICE, "", ["L17 error"]),
        ("*", "'*'", "'*'", _SERVICE, "", ["L17 error"]),
        ("*", "'*/*'", "'*'", _SERVICE, _EXCLUDES, ["L17 error"]),
        ("apps", "deployments", "CREATE", _SERVICE, "", []),
        ("coordination.k8s.io", "leases", "UPDATE", _SERVICE, "", ["L17 error"]),
        ("certificates.k8s.io", "certificatesigningrequests", "CREATE", _SERVICE, "", ["L17 error"]),
        ("", "events", "CREATE", _SERVICE, "", ["L17 warning"]),
        ("", "pods", "CREATE", _SERVICE, "objectSelector: {matchLabels: {check: please}}", ["L17 warning"]),
    ],
)
def test_a_webhook_of_pods_must_not_decide_about_what_makes_pods_possible(
    group: str, resources: str, operations: str, client: str, more: str, expected: list[str]
) -> None:
    cluster = Cluster()
    cluster.add(_WEBHOOK.format(group=group, resources=resources, operations=operations, client=client, more=more))

    assert cluster.said() == expected


def test_a_webhook_that_starts_on_bare_nodes_itself_is_harmless() -> None:
    cluster = Cluster()
    cluster.add(_WEBHOOK.format(group="", resources="pods", operations="CREATE", client=_SERVICE, more=""))
    cluster.add("""
apiVersion: v1
kind: Service
metadata: {name: policy, namespace: policy}
spec: {selector: {app: policy}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: policy, namespace: policy}
spec:
  template:
    metadata: {labels: {app: policy}}
    spec: {hostNetwork: true, tolerations: [{operator: Exists}], containers: [{name: policy, image: "policy:v1"}]}
""")

    assert cluster.said() == []


def test_the_level_of_the_namespace_must_allow_the_hosts_network() -> None:
    cluster = Cluster()
    cluster.add("""
apiVersion: v1
kind: Namespace
metadata: {name: kube-system, labels: {pod-security.kubernetes.io/enforce: baseline}}
""")
    assert cluster.said() == ["L18 error"]
    assert cluster.only("L18").object == "Namespace kube-system"

    cluster.get("Namespace")["metadata"]["labels"] = {"pod-security.kubernetes.io/enforce": "privileged"}
    assert cluster.said() == []


def test_the_level_restricted_demands_more_than_no_host_network() -> None:
    cluster = Cluster("proxmox-deployment")
    cluster.add("""
apiVersion: v1
kind: Namespace
metadata: {name: kube-system, labels: {pod-security.kubernetes.io/enforce: restricted}}
""")

    assert "runAsNonRoot" in cluster.only("L18").why


def test_the_servers_default_level_counts_where_no_label_is() -> None:
    cluster = Cluster()
    cluster.add("""
apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: restricted}
exemptions: {namespaces: []}
""")
    assert cluster.said() == ["L18 error"]

    cluster.objects[-1]["exemptions"]["namespaces"] = ["kube-system"]
    assert cluster.said() == []


def test_a_policy_about_the_hosts_network_is_pointed_at() -> None:
    cluster = Cluster()
    cluster.add("""
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: disallow-host-namespaces}
spec:
  validationFailureAction: Enforce
  rules: [{name: host, validate: {pattern: {spec: {"=(hostNetwork)": "false"}}}}]
""")

    assert cluster.said() == ["L18 warning"]


def test_it_should_not_be_pushed_aside() -> None:
    cluster = Cluster()
    cluster.pod["priorityClassName"] = "batch"
    del cluster.pod["containers"][0]["resources"]

    assert cluster.said() == ["L19 warning", "L19 warning"]


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        ("minAvailable: 2", ["L19 warning"]),
        ("maxUnavailable: 0", ["L19 warning"]),
        ("minAvailable: 100%", ["L19 warning"]),
        ("minAvailable: 1", []),
        ("maxUnavailable: 1", []),
    ],
)
def test_a_budget_must_let_one_go(budget: str, expected: list[str]) -> None:
    cluster = Cluster()
    cluster.add(f"""
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: ccm, namespace: kube-system}}
spec: {{{budget}, selector: {{matchLabels: {{app: cloud-controller-manager}}}}}}
""")

    assert cluster.said() == expected


def test_an_autoscaler_does_no_good() -> None:
    cluster = Cluster()
    cluster.add("""
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: ccm, namespace: kube-system}
spec: {scaleTargetRef: {kind: Deployment, name: cloud-controller-manager}}
""")

    assert cluster.said() == ["L19 warning"]


def test_configuration_that_is_missing_may_be_elsewhere_but_not_in_a_running_cluster() -> None:
    cluster = Cluster()
    cluster.drop("Secret")

    assert cluster.said() == ["L20 warning"]
    assert cluster.said(complete=True) == ["L20 error"]


def test_configuration_that_pods_make_is_made_too_late() -> None:
    cluster = Cluster()
    cluster.drop("Secret")
    cluster.add("""
apiVersion: external-secrets.io/v1
kind: ExternalSecret
metadata: {name: from-vault, namespace: kube-system}
spec: {target: {name: cloud-config}}
""")

    assert cluster.said() == ["L20 error"]


_NODE = """
apiVersion: v1
kind: Node
metadata: {{name: cp-0, annotations: {{alpha.kubernetes.io/provided-node-ip: 10.0.0.7}}}}
spec: {{providerID: "lab://{node}"}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {{name: cp-0, namespace: default}}
spec: {{providerID: "lab://{machine}"}}
status:
  nodeRef: {{name: "{reference}"}}
  addresses: [{{type: InternalIP, address: {address}}}, {{type: Hostname, address: cp-0}}]
"""


@pytest.mark.parametrize(
    ("node", "reference", "address", "expected"),
    [
        ("1", "cp-0", "10.0.0.7", []),
        ("1", "cp-0", "10.9.9.9", ["L21 error"]),
        ("2", "", "10.0.0.7", ["L22 error"]),
    ],
)
def test_node_and_machine_must_agree(node: str, reference: str, address: str, expected: list[str]) -> None:
    cluster = Cluster()
    cluster.add(_NODE.format(node=node, machine="1", reference=reference, address=address))

    assert cluster.said() == expected


def test_a_kubelet_with_an_identifier_of_another_cloud_is_never_initialised() -> None:
    cluster = Cluster()
    cluster.registrations()[2]["kubeletExtraArgs"].append({"name": "provider-id", "value": "proxmox://1"})
    assert cluster.said() == ["L22 warning"]  # nobody knows what identifiers of the cloud lab look like

    cluster.arguments.append("--cloud-provider=vsphere")
    assert cluster.said() == ["L22 error"]


def test_machines_of_one_cloud_and_a_controller_of_another_never_meet() -> None:
    cluster = Cluster()
    cluster.arguments.append("--cloud-provider=openstack")
    cluster.add(
        "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereMachineTemplate, metadata: {name: a}}"
    )

    assert cluster.said() == ["L22 error"]


def test_the_proxmox_controller_can_be_told_to_use_cluster_apis_identifiers() -> None:
    cluster = Cluster("proxmox-daemonset", "proxmox-surroundings")
    assert "L22 error" in cluster.said()

    secret = cluster.get("Secret")
    secret["stringData"]["config.yaml"] += "features:\n  provider: 'capmox'\n"
    assert not [each for each in cluster.said() if each.startswith("L22")]


def test_the_route_controller_needs_ranges() -> None:
    cluster = Cluster()
    cluster.arguments.append("--cloud-provider=aws")
    assert cluster.said() == ["L23 error"]
    assert "--cluster-cidr" in cluster.only("L23").subject

    cluster.arguments.append("--cluster-cidr=10.244.0.0/16")
    assert cluster.said() == []

    del cluster.get("Cluster")["spec"]["clusterNetwork"]
    assert cluster.said() == ["L23 error"]

    cluster.arguments.append("--configure-cloud-routes=false")
    assert cluster.said() == []


def test_ranges_that_are_said_elsewhere_are_not_missed() -> None:
    cluster = Cluster()
    cluster.arguments.extend(["--cloud-provider=aws", "--cluster-cidr=10.244.0.0/16"])
    cluster.drop("Cluster")
    assert cluster.said() == []

    cluster.add(
        "{apiVersion: kubeadm.k8s.io/v1beta4, kind: ClusterConfiguration, networking: {podSubnet: 10.244.0.0/16}}"
    )
    assert cluster.said() == []

    cluster.objects[-1]["networking"] = {}
    assert cluster.said() == ["L23 error"]


def test_a_certificate_that_pods_issue_comes_too_late() -> None:
    cluster = Cluster()
    cluster.pod["volumes"].append({"name": "tls", "secret": {"secretName": "ccm-tls"}})
    cluster.add("""
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: ccm, namespace: kube-system}
spec: {secretName: ccm-tls}
""")

    assert cluster.said() == ["L24 error"]


@pytest.mark.parametrize("volume", [{"csi": {"driver": "csi.cert-manager.io"}}, {"persistentVolumeClaim": {}}])
def test_a_volume_of_a_storage_driver_comes_too_late(volume: dict[str, object]) -> None:
    cluster = Cluster()
    cluster.pod["volumes"].append({"name": "more", **volume})

    assert cluster.said() == ["L24 error"]


_OUTSIDE = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: demo-ccm, namespace: tenants}
spec:
  template:
    spec:
      containers: [{name: ccm, image: "x/lab-cloud-controller-manager:v1", args: [--kubeconfig=/etc/demo/value]}]
      volumes: [{name: kubeconfig, secret: {secretName: demo-kubeconfig}}]
"""


def test_a_controller_outside_of_the_cluster_follows_other_rules() -> None:
    cluster = Cluster()
    cluster.drop("Deployment")
    cluster.add(_OUTSIDE)

    assert cluster.said() == ["L25 info"]


def test_one_inside_and_one_outside_work_against_each_other() -> None:
    cluster = Cluster()
    cluster.add(_OUTSIDE)

    (inside,) = [each for each in cluster.findings() if each.check == "L25" and "kube-system" in each.object]

    assert inside.severity is Severity.WARNING
