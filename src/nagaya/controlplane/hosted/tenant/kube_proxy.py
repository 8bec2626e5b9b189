"""kube-proxy as kubeadm installs it: on every node, with the tenant's own version."""

from __future__ import annotations

from typing import Any, Final

import yaml

from nagaya.controlplane.hosted.tenant.access import account, cluster_binding, group, reading_config_map
from nagaya.controlplane.hosted.tenant.bootstrap import BOOTSTRAP_TOKENS
from nagaya.controlplane.hosted.tenant.configuration import document
from nagaya.controlplane.hosted.tenant.kinds import DAEMON_SETS, SYSTEM, Manifest, config_map, manifest, service_account
from nagaya.controlplane.hosted.tenant.releases import image_tag, release_of
from nagaya.controlplane.hosted.tenant.setup import KubeProxy, TenantSetup

NAME: Final = "kube-proxy"
_FOLDER: Final = "/var/lib/kube-proxy"
_ACCOUNT_FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_LABELS: Final = {"k8s-app": NAME}


def objects(setup: TenantSetup, proxy: KubeProxy) -> tuple[Manifest, ...]:
    """Everything that it needs."""
    data = {"kubeconfig.conf": _kubeconfig(setup), "config.conf": document(configuration(setup, proxy))}
    return (
        service_account(SYSTEM, NAME),
        cluster_binding("kubeadm:node-proxier", "system:node-proxier", account(NAME)),
        *reading_config_map(SYSTEM, NAME, NAME, group(BOOTSTRAP_TOKENS)),
        config_map(SYSTEM, NAME, data, labels={"app": NAME}),
        _daemon_set(setup, proxy),
    )


def configuration(setup: TenantSetup, proxy: KubeProxy) -> dict[str, Any]:
    """The KubeProxyConfiguration."""
    content: dict[str, Any] = {
        "bindAddress": "::" if setup.ipv6_first else "0.0.0.0",  # noqa: S104  # on a node, and only its health
        "clientConnection": {"kubeconfig": f"{_FOLDER}/kubeconfig.conf"},
    }
    if setup.pod_cidrs:
        content["clusterCIDR"] = ",".join(setup.pod_cidrs)
    if release_of(setup.version).names_proxy_mode:
        content["mode"] = "iptables"
    return {
        **content,
        **proxy.configuration,
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
    }


def _kubeconfig(setup: TenantSetup) -> str:
    place = {"certificate-authority": f"{_ACCOUNT_FOLDER}/ca.crt", "server": f"https://{setup.endpoint}"}
    context = {"cluster": "default", "namespace": "default", "user": "default"}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"cluster": place, "name": "default"}],
        "contexts": [{"context": context, "name": "default"}],
        "current-context": "default",
        "users": [{"name": "default", "user": {"tokenFile": f"{_ACCOUNT_FOLDER}/token"}}],
    }
    text: str = yaml.dump(content, Dumper=yaml.CSafeDumper, sort_keys=False, width=4096)
    return text


def _daemon_set(setup: TenantSetup, proxy: KubeProxy) -> Manifest:
    repository = proxy.image_repository or setup.image_repository
    container = {
        "name": NAME,
        "image": f"{repository}/{NAME}:{proxy.image_tag or image_tag(setup.version)}",
        "imagePullPolicy": "IfNotPresent",
        "command": ["/usr/local/bin/kube-proxy", f"--config={_FOLDER}/config.conf", "--hostname-override=$(NODE_NAME)"],
        "securityContext": {"privileged": True},
        "env": [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}],
        "volumeMounts": [
            {"name": NAME, "mountPath": _FOLDER},
            {"name": "xtables-lock", "mountPath": "/run/xtables.lock"},
            {"name": "lib-modules", "mountPath": "/lib/modules", "readOnly": True},
        ],
    }
    pod = {
        "priorityClassName": "system-node-critical",
        "hostNetwork": True,
        "serviceAccountName": NAME,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [
            {"name": NAME, "configMap": {"name": NAME}},
            {"name": "xtables-lock", "hostPath": {"path": "/run/xtables.lock", "type": "FileOrCreate"}},
            {"name": "lib-modules", "hostPath": {"path": "/lib/modules"}},
        ],
    }
    spec = {
        "selector": {"matchLabels": dict(_LABELS)},
        "updateStrategy": {"type": "RollingUpdate"},
        "template": {"metadata": {"labels": dict(_LABELS)}, "spec": pod},
    }
    return manifest(DAEMON_SETS, SYSTEM, NAME, labels=_LABELS, spec=spec)
