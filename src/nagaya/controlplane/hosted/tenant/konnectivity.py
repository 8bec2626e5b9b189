"""Konnectivity's agents: they call out to the control plane, which then reaches kubelets and pods through them.

An agent proves itself by a token that is good for nothing else (its audience is the server's), and the server asks the
tenant's API whether that token is genuine: hence the server's right to review tokens.
"""

from __future__ import annotations

from typing import Any, Final

from nagaya.api.controlplane.hosted_arguments import KONNECTIVITY_AGENT
from nagaya.controlplane.hosted.components.arguments import merged
from nagaya.controlplane.hosted.components.konnectivity import AGENT, AUDIENCE
from nagaya.controlplane.hosted.tenant.access import cluster_binding, user
from nagaya.controlplane.hosted.tenant.kinds import (
    DAEMON_SETS,
    DEPLOYMENTS,
    SYSTEM,
    Manifest,
    manifest,
    service_account,
)
from nagaya.controlplane.hosted.tenant.releases import release_of
from nagaya.controlplane.hosted.tenant.setup import Konnectivity, TenantSetup
from nagaya.pki.kubeadm import identities

SERVER_USER: Final = identities.KONNECTIVITY_SERVER.user
ADMIN_PORT: Final = 8133
HEALTH_PORT: Final = 8134
_TOKENS: Final = "/var/run/secrets/tokens"  # a folder
_TOKEN_SECONDS: Final = 3600
_NOBODY: Final = 65532
_LABELS: Final = {"k8s-app": AGENT}


def objects(setup: TenantSetup, konnectivity: Konnectivity) -> tuple[Manifest, ...]:
    """Everything that agents and servers need in the tenant."""
    return (
        cluster_binding(SERVER_USER, "system:auth-delegator", user(SERVER_USER)),
        service_account(SYSTEM, AGENT),
        _workload(setup, konnectivity),
    )


def arguments(konnectivity: Konnectivity) -> tuple[str, ...]:
    """What an agent is started with."""
    fixed = {
        "admin-server-port": str(ADMIN_PORT),
        "ca-cert": "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt",
        "health-server-port": str(HEALTH_PORT),
        "proxy-server-host": konnectivity.server_host,
        "proxy-server-port": str(konnectivity.server_port),
        "service-account-token-path": f"{_TOKENS}/{AGENT}-token",
    }
    defaults = {
        "admin-bind-address": "127.0.0.1",
        "logtostderr": "true",
        # There are more servers while they are rolled, and fewer afterwards.
        "sync-forever": "true",
    }
    return merged(KONNECTIVITY_AGENT, fixed, defaults, konnectivity.extra_args)


def _workload(setup: TenantSetup, konnectivity: Konnectivity) -> Manifest:
    spec: dict[str, Any] = {
        "selector": {"matchLabels": dict(_LABELS)},
        "template": {"metadata": {"labels": dict(_LABELS)}, "spec": _pod(setup, konnectivity)},
    }
    if konnectivity.mode == "DaemonSet":
        return manifest(DAEMON_SETS, SYSTEM, AGENT, labels=_LABELS, spec=spec)
    spec["replicas"] = konnectivity.replicas
    return manifest(DEPLOYMENTS, SYSTEM, AGENT, labels=_LABELS, spec=spec)


def _pod(setup: TenantSetup, konnectivity: Konnectivity) -> dict[str, Any]:
    token = {"path": f"{AGENT}-token", "audience": AUDIENCE, "expirationSeconds": _TOKEN_SECONDS}
    pod: dict[str, Any] = {
        "priorityClassName": "system-cluster-critical",
        "serviceAccountName": AGENT,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        # Servers are outside of the cluster, and its own DNS may not be there before agents are.
        "dnsPolicy": "Default",
        "tolerations": [dict(each) for each in konnectivity.tolerations],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "runAsGroup": _NOBODY,
            "fsGroup": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(setup, konnectivity)],
        "volumes": [{"name": f"{AGENT}-token", "projected": {"sources": [{"serviceAccountToken": token}]}}],
    }
    if konnectivity.host_network:
        pod["hostNetwork"] = True
    return pod


def _container(setup: TenantSetup, konnectivity: Konnectivity) -> dict[str, Any]:
    repository = konnectivity.image_repository or f"{setup.image_repository}/kas-network-proxy"
    tag = konnectivity.image_tag or release_of(setup.version).konnectivity
    return {
        "name": AGENT,
        "image": f"{repository}/proxy-agent:{tag}",
        "imagePullPolicy": "IfNotPresent",
        "command": ["/proxy-agent"],
        "args": [*arguments(konnectivity)],
        "resources": {"requests": {"cpu": "50m", "memory": "32Mi"}, "limits": {"memory": "256Mi"}},
        "livenessProbe": _probe("/healthz"),
        "readinessProbe": _probe("/readyz"),
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        "volumeMounts": [{"name": f"{AGENT}-token", "mountPath": _TOKENS, "readOnly": True}],
    }


def _probe(path: str) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": HEALTH_PORT}, "initialDelaySeconds": 15, "timeoutSeconds": 15}
