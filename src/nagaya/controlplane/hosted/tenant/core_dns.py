"""CoreDNS as kubeadm installs it: two replicas behind the well-known address of cluster DNS."""

from __future__ import annotations

from typing import Any, Final

from nagaya.controlplane.hosted.tenant.access import account, cluster_binding, cluster_role, rule
from nagaya.controlplane.hosted.tenant.kinds import (
    DEPLOYMENTS,
    SERVICES,
    SYSTEM,
    Manifest,
    config_map,
    manifest,
    service_account,
)
from nagaya.controlplane.hosted.tenant.releases import release_of
from nagaya.controlplane.hosted.tenant.setup import REGISTRY, CoreDns, TenantSetup

NAME: Final = "coredns"
SERVICE: Final = "kube-dns"
REPLICAS: Final = 2
_ROLE: Final = "system:coredns"
_LABELS: Final = {"k8s-app": SERVICE}
_COREFILE: Final = """\
.:53 {{
    errors
    health {{
       lameduck 5s
    }}
    ready
    kubernetes {domain} in-addr.arpa ip6.arpa {{
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }}
    prometheus :9153
    forward . /etc/resolv.conf {{
       max_concurrent 1000
    }}
    cache 30 {{
       disable success {domain}
       disable denial {domain}
    }}
    loop
    reload
    loadbalance
}}
"""


def objects(setup: TenantSetup, dns: CoreDns) -> tuple[Manifest, ...]:
    """Everything that it needs."""
    watched = ["list", "watch"]
    return (
        config_map(SYSTEM, NAME, {"Corefile": dns.corefile or _COREFILE.format(domain=setup.dns_domain)}),
        cluster_role(
            _ROLE,
            rule(watched, ["endpoints", "services", "pods", "namespaces"]),
            rule(watched, ["endpointslices"], api_group="discovery.k8s.io"),
        ),
        cluster_binding(_ROLE, _ROLE, account(NAME)),
        service_account(SYSTEM, NAME),
        _deployment(setup, dns),
        _service(setup),
    )


def image(setup: TenantSetup, dns: CoreDns) -> str:
    """In the official registry it is in a folder of its own; mirrors have it beside the others."""
    repository = dns.image_repository or setup.image_repository
    folder = f"{repository}/coredns" if repository == REGISTRY else repository
    return f"{folder}/coredns:{dns.image_tag or release_of(setup.version).core_dns}"


def _service(setup: TenantSetup) -> Manifest:
    ports = [
        {"name": "dns", "port": 53, "protocol": "UDP", "targetPort": 53},
        {"name": "dns-tcp", "port": 53, "protocol": "TCP", "targetPort": 53},
        {"name": "metrics", "port": 9153, "protocol": "TCP", "targetPort": 9153},
    ]
    return manifest(
        SERVICES,
        SYSTEM,
        SERVICE,
        labels={**_LABELS, "kubernetes.io/cluster-service": "true", "kubernetes.io/name": "CoreDNS"},
        annotations={"prometheus.io/port": "9153", "prometheus.io/scrape": "true"},
        spec={"clusterIP": setup.cluster_dns[0], "ports": ports, "selector": dict(_LABELS)},
    )


def _deployment(setup: TenantSetup, dns: CoreDns) -> Manifest:
    pod = {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": NAME,
        "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [_APART]}},
        "tolerations": [
            {"key": "CriticalAddonsOnly", "operator": "Exists"},
            {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
        ],
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "containers": [_container(image(setup, dns))],
        "dnsPolicy": "Default",
        "volumes": [
            {"name": "config-volume", "configMap": {"name": NAME, "items": [{"key": "Corefile", "path": "Corefile"}]}}
        ],
    }
    spec = {
        "replicas": REPLICAS if dns.replicas is None else dns.replicas,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
        "selector": {"matchLabels": dict(_LABELS)},
        "template": {"metadata": {"labels": dict(_LABELS)}, "spec": pod},
    }
    kept = ("spec", "replicas") if dns.replicas is None else ()
    return manifest(DEPLOYMENTS, SYSTEM, NAME, labels=_LABELS, spec=spec, kept=kept)


_APART: Final = {
    "weight": 100,
    "podAffinityTerm": {
        "labelSelector": {"matchExpressions": [{"key": "k8s-app", "operator": "In", "values": [SERVICE]}]},
        "topologyKey": "kubernetes.io/hostname",
    },
}


def _container(image: str) -> dict[str, Any]:
    return {
        "name": NAME,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {"memory": "170Mi"}, "requests": {"cpu": "100m", "memory": "70Mi"}},
        "args": ["-conf", "/etc/coredns/Corefile"],
        "volumeMounts": [{"name": "config-volume", "mountPath": "/etc/coredns", "readOnly": True}],
        "ports": [
            {"containerPort": 53, "name": "dns", "protocol": "UDP"},
            {"containerPort": 53, "name": "dns-tcp", "protocol": "TCP"},
            {"containerPort": 9153, "name": "metrics", "protocol": "TCP"},
            {"containerPort": 8080, "name": "liveness-probe", "protocol": "TCP"},
            {"containerPort": 8181, "name": "readiness-probe", "protocol": "TCP"},
        ],
        "livenessProbe": {
            "httpGet": {"path": "/health", "port": "liveness-probe", "scheme": "HTTP"},
            "initialDelaySeconds": 60,
            "timeoutSeconds": 5,
            "successThreshold": 1,
            "failureThreshold": 5,
        },
        "readinessProbe": {"httpGet": {"path": "/ready", "port": "readiness-probe", "scheme": "HTTP"}},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
