"""The two documents that `kubeadm join` and every kubelet read: what the cluster is, and how kubelets shall work.

Only fields that say something are written. kubeadm writes the zero value of every field that its own version knows,
which other versions may not know; left out they mean the same, in every version.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from nagaya.controlplane.hosted.tenant import json_patch
from nagaya.controlplane.hosted.tenant.kinds import SYSTEM, Manifest, config_map
from nagaya.controlplane.hosted.tenant.releases import spelled
from nagaya.controlplane.hosted.tenant.setup import TenantSetup

CERTIFICATES: Final = "/etc/kubernetes/pki"
MANIFESTS: Final = "/etc/kubernetes/manifests"
HEALTH_PORT: Final = 10248


def objects(setup: TenantSetup) -> tuple[Manifest, ...]:
    """The ConfigMaps."""
    return (
        config_map(SYSTEM, "kubeadm-config", {"ClusterConfiguration": document(cluster_configuration(setup))}),
        config_map(SYSTEM, "kubelet-config", {"kubelet": document(kubelet_configuration(setup))}),
    )


def cluster_configuration(setup: TenantSetup) -> dict[str, Any]:
    """The ClusterConfiguration: v1beta4 is the version that all supported minors of kubeadm read."""
    networking = {"dnsDomain": setup.dns_domain, "serviceSubnet": ",".join(setup.service_cidrs)}
    if setup.pod_cidrs:
        networking["podSubnet"] = ",".join(setup.pod_cidrs)
    content: dict[str, Any] = {
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "ClusterConfiguration",
        "certificatesDir": CERTIFICATES,
        "clusterName": setup.cluster_name,
        "controlPlaneEndpoint": setup.endpoint,
        "imageRepository": setup.image_repository,
        "kubernetesVersion": spelled(setup.version),
        "networking": networking,
    }
    if setup.core_dns is None:
        content["dns"] = {"disabled": True}
    elif override := _image(setup.core_dns.image_repository, setup.core_dns.image_tag):
        content["dns"] = override
    if setup.kube_proxy is None:
        content["proxy"] = {"disabled": True}
    return content


def kubelet_configuration(setup: TenantSetup) -> dict[str, Any]:
    """The KubeletConfiguration, with the user's patches. Raises ValueError if one of them cannot be carried out."""
    content: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{CERTIFICATES}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "cgroupDriver": "systemd",
        "clusterDNS": [*setup.cluster_dns],
        "clusterDomain": setup.dns_domain,
        "healthzBindAddress": "127.0.0.1",
        "healthzPort": HEALTH_PORT,
        "rotateCertificates": True,
        "staticPodPath": MANIFESTS,
    }
    if setup.verified_kubelets:
        content["serverTLSBootstrap"] = True
    patched = json_patch.apply(content, setup.kubelet_patches)
    if not isinstance(patched, dict) or patched.get("kind") != "KubeletConfiguration":
        raise ValueError("the kubelet's configuration is not one any more after its patches")
    return patched


def document(content: dict[str, Any]) -> str:
    """YAML in kubeadm's order."""
    text: str = yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=True, width=4096)
    return text


def _image(repository: str, tag: str) -> dict[str, str]:
    given = {"imageRepository": repository, "imageTag": tag}
    return {name: value for name, value in given.items() if value}
