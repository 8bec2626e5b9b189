"""What `kubeadm init` leaves in a cluster: its configuration, and the two add-ons every cluster has.

Plain data, with the names, labels, images and keys that upgrade and health checks look at. The tenant's own
controllers give the add-ons pods like any other workload's.
"""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.simulators.tenant.hands import DAEMON_SETS, DEPLOYMENTS, STORAGE_CLASSES
from nagaya.simulators.tenant.settings import CONTROL_PLANE, TenantSettings
from nagaya.simulators.tenant.volume_claims import storage_class

SYSTEM: Final = "kube-system"
REGISTRY: Final = "registry.k8s.io"
COREDNS_VERSION: Final = "v1.14.2"  # what kubeadm 1.36 installs
ETCD_VERSION: Final = "3.6.8-0"

_CONFIG_MAPS: Final = GroupResource("", "configmaps")
_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
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


def objects(settings: TenantSettings, endpoint: str) -> list[tuple[GroupResource, JsonObject]]:
    """Everything, in the order in which it is made."""
    return [
        (_CONFIG_MAPS, _config_map("kubeadm-config", {"ClusterConfiguration": _configuration(settings, endpoint)})),
        (_CONFIG_MAPS, _config_map("kubelet-config", {"kubelet": _KUBELET})),
        (_CONFIG_MAPS, _config_map("kube-proxy", {"config.conf": _proxy(settings)}, {"app": "kube-proxy"})),
        (_CONFIG_MAPS, _config_map("coredns", {"Corefile": _COREFILE})),
        (_ACCOUNTS, {"metadata": {"name": "kube-proxy", "namespace": SYSTEM}}),
        (_ACCOUNTS, {"metadata": {"name": "coredns", "namespace": SYSTEM}}),
        (STORAGE_CLASSES, storage_class()),
        (DAEMON_SETS, _kube_proxy(settings.version)),
        (DEPLOYMENTS, _coredns()),
    ]


def _config_map(name: str, data: dict[str, str], labels: dict[str, str] | None = None) -> JsonObject:
    metadata: JsonObject = {"name": name, "namespace": SYSTEM}
    if labels:
        metadata["labels"] = labels
    return {"metadata": metadata, "data": data}


def _configuration(settings: TenantSettings, endpoint: str) -> str:
    return f"""apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
clusterName: {settings.name}
controlPlaneEndpoint: {endpoint}
kubernetesVersion: {settings.version}
imageRepository: {REGISTRY}
certificatesDir: /etc/kubernetes/pki
networking:
  dnsDomain: cluster.local
  podSubnet: {settings.pod_subnet}
  serviceSubnet: {settings.service_subnet}
etcd:
  local:
    dataDir: /var/lib/etcd
"""


_KUBELET: Final = """apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
"""


def _proxy(settings: TenantSettings) -> str:
    return f"""apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
clusterCIDR: {settings.pod_subnet}
"""


def _kube_proxy(version: str) -> JsonObject:
    labels = {"k8s-app": "kube-proxy"}
    container = {
        "name": "kube-proxy",
        "image": f"{REGISTRY}/kube-proxy:{version}",
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


def _coredns() -> JsonObject:
    labels = {"k8s-app": "kube-dns"}
    container = {
        "name": "coredns",
        "image": f"{REGISTRY}/coredns/coredns:{COREDNS_VERSION}",
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
