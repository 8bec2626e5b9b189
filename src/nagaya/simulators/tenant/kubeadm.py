"""What `kubeadm init` leaves in a cluster: its configuration, what machines read before they join, and two add-ons.

Plain data, with the names, labels, images and keys that upgrade and health checks look at. The tenant's own
controllers give the add-ons pods like any other workload's.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.pki import kubeconfig
from nagaya.pki.kubeadm.service_addresses import dns_address
from nagaya.simulators.tenant import kubeadm_configuration
from nagaya.simulators.tenant.hands import DAEMON_SETS, DEPLOYMENTS, STORAGE_CLASSES
from nagaya.simulators.tenant.kubeadm_configuration import NOTHING_TOLD, Document
from nagaya.simulators.tenant.releases import release_of
from nagaya.simulators.tenant.settings import CONTROL_PLANE, TenantSettings
from nagaya.simulators.tenant.volume_claims import storage_class

SYSTEM: Final = "kube-system"
PUBLIC: Final = "kube-public"
_CLUSTER_INFO: Final = "cluster-info"
_INFO_READER: Final = "kubeadm:bootstrap-signer-clusterinfo"

_CONFIG_MAPS: Final = GroupResource("", "configmaps")
_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
_ROLES: Final = GroupResource("rbac.authorization.k8s.io", "roles")
_ROLE_BINDINGS: Final = GroupResource("rbac.authorization.k8s.io", "rolebindings")
INITIALIZED: Final = (_CONFIG_MAPS, SYSTEM, "kubeadm-config")  # is there once a control plane has been initialised

_COREFILE: Final = """.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    prometheus :9153
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    cache 30
    loop
    reload
    loadbalance
}
"""


def objects(
    settings: TenantSettings, endpoint: str, told: Document = NOTHING_TOLD, skipped: Collection[str] = ()
) -> list[tuple[GroupResource, JsonObject]]:
    """Everything, in the order in which it is made. `told` is the ClusterConfiguration that kubeadm was given,
    `skipped` are phases that it was to leave out."""
    configuration = kubeadm_configuration.complete(settings, endpoint, told)
    version = str(configuration["kubernetesVersion"])
    made: list[tuple[GroupResource, JsonObject]] = [
        (
            _CONFIG_MAPS,
            _config_map("kubeadm-config", {"ClusterConfiguration": kubeadm_configuration.text(configuration)}),
        ),
        (_CONFIG_MAPS, _config_map("kubelet-config", {"kubelet": _kubelet(configuration)})),
        (STORAGE_CLASSES, storage_class()),
        *_cluster_info(settings, str(configuration["controlPlaneEndpoint"])),
    ]
    if not {"addon", "addon/kube-proxy"} & set(skipped):
        proxy = {"config.conf": _proxy(configuration)}
        made += [
            (_CONFIG_MAPS, _config_map("kube-proxy", proxy, {"app": "kube-proxy"})),
            (_ACCOUNTS, {"metadata": {"name": "kube-proxy", "namespace": SYSTEM}}),
            (DAEMON_SETS, _kube_proxy(f"{configuration['imageRepository']}/kube-proxy:{image_tag(version)}")),
        ]
    if not {"addon", "addon/coredns"} & set(skipped):
        domain = str(configuration["networking"]["dnsDomain"])
        image = kubeadm_configuration.image(configuration, "dns", "coredns", release_of(version).core_dns)
        made += [
            (_CONFIG_MAPS, _config_map("coredns", {"Corefile": _COREFILE.replace("cluster.local", domain)})),
            (_ACCOUNTS, {"metadata": {"name": "coredns", "namespace": SYSTEM}}),
            (DEPLOYMENTS, _coredns(image)),
        ]
    return made


def _cluster_info(settings: TenantSettings, endpoint: str) -> list[tuple[GroupResource, JsonObject]]:
    """What a machine reads before it trusts anyone; the server signs it with the tokens that there are."""
    info = kubeconfig.build(f"https://{endpoint}", settings.authority.certificate_pem, None, cluster="")
    metadata = {"name": _INFO_READER, "namespace": PUBLIC}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [_CLUSTER_INFO], "verbs": ["get"]}
    group = "rbac.authorization.k8s.io"
    return [
        (
            _CONFIG_MAPS,
            {
                "metadata": {"name": _CLUSTER_INFO, "namespace": PUBLIC},
                "data": {"kubeconfig": kubeconfig.to_yaml(info).decode()},
            },
        ),
        (_ROLES, {"metadata": metadata, "rules": [rule]}),
        (
            _ROLE_BINDINGS,
            {
                "metadata": metadata,
                "roleRef": {"apiGroup": group, "kind": "Role", "name": _INFO_READER},
                "subjects": [{"apiGroup": group, "kind": "User", "name": "system:anonymous"}],
            },
        ),
    ]


def image_tag(version: str) -> str:
    """The tag of Kubernetes' own images: `+` is not allowed in one."""
    return version.replace("+", "_")


def _config_map(name: str, data: dict[str, str], labels: dict[str, str] | None = None) -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": SYSTEM}
    if labels:
        metadata["labels"] = labels
    return {"metadata": metadata, "data": data}


def _kubelet(configuration: Document) -> str:
    networking = configuration["networking"]
    dns = dns_address(str(networking["serviceSubnet"]).split(","))
    return f"""apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
clusterDNS:
- {dns}
clusterDomain: {networking["dnsDomain"]}
"""


def _proxy(configuration: Document) -> str:
    return f"""apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clusterCIDR: {configuration["networking"]["podSubnet"]}
"""


def _kube_proxy(image: str) -> JsonObject:
    labels = {"k8s-app": "kube-proxy"}
    container = {
        "name": "kube-proxy",
        "image": image,
        "command": ["/usr/local/bin/kube-proxy", "--config=/var/lib/kube-proxy/config.conf"],
    }
    spec: JsonObject = {
        "priorityClassName": "system-node-critical",
        "serviceAccountName": "kube-proxy",
        "automountServiceAccountToken": False,
        "hostNetwork": True,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
    }
    return {
        "metadata": {"name": "kube-proxy", "namespace": SYSTEM, "labels": labels},
        "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}},
    }


def _coredns(image: str) -> JsonObject:
    labels = {"k8s-app": "kube-dns"}
    container = {
        "name": "coredns",
        "image": image,
        "args": ["-conf", "/etc/coredns/Corefile"],
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
    }
    source = {"name": "coredns", "items": [{"key": "Corefile", "path": "Corefile"}]}
    spec: JsonObject = {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": "coredns",
        "automountServiceAccountToken": False,
        "dnsPolicy": "Default",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": CONTROL_PLANE, "effect": "NoSchedule"},
        ],
        "containers": [container],
        "volumes": [{"name": "config-volume", "configMap": source}],
    }
    return {
        "metadata": {"name": "coredns", "namespace": SYSTEM, "labels": labels},
        "spec": {
            "replicas": 2,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }
