"""Roles, and who has them, in as few words as RBAC allows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from nagaya.controlplane.hosted.tenant.kinds import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    ROLE_BINDINGS,
    ROLES,
    SYSTEM,
    Manifest,
    manifest,
)

_GROUP: Final = "rbac.authorization.k8s.io"
Subject = Mapping[str, str]


def user(name: str) -> Subject:
    """Somebody by name."""
    return {"apiGroup": _GROUP, "kind": "User", "name": name}


def group(name: str) -> Subject:
    """Everybody in a group."""
    return {"apiGroup": _GROUP, "kind": "Group", "name": name}


def account(name: str) -> Subject:
    """A service account of kube-system."""
    return {"kind": "ServiceAccount", "name": name, "namespace": SYSTEM}


def rule(verbs: Sequence[str], resources: Sequence[str], *, api_group: str = "", names: Sequence[str] = ()) -> Any:
    """One thing that a role allows."""
    allowed: dict[str, Any] = {"apiGroups": [api_group], "resources": [*resources], "verbs": [*verbs]}
    if names:
        allowed["resourceNames"] = [*names]
    return allowed


def reading_config_map(namespace: str, role: str, config_map: str, *readers: Subject) -> tuple[Manifest, Manifest]:
    """The role that may read exactly one ConfigMap, and its binding of the same name."""
    rules = [rule(["get"], ["configmaps"], names=[config_map])]
    return (
        manifest(ROLES, namespace, role, rules=rules),
        manifest(ROLE_BINDINGS, namespace, role, roleRef=_reference("Role", role), subjects=[*readers]),
    )


def cluster_role(name: str, *rules: Any) -> Manifest:
    """A role in the whole cluster."""
    return manifest(CLUSTER_ROLES, "", name, rules=[*rules])


def cluster_binding(name: str, role: str, *subjects: Subject) -> Manifest:
    """Who has a role in the whole cluster."""
    return manifest(CLUSTER_ROLE_BINDINGS, "", name, roleRef=_reference("ClusterRole", role), subjects=[*subjects])


def _reference(kind: str, name: str) -> dict[str, str]:
    return {"apiGroup": _GROUP, "kind": kind, "name": name}
