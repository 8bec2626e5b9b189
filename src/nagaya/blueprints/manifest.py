"""What all objects of a drafted cluster have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.kind import Kind
from nagaya.blueprints.wish import Wish

Manifest = dict[str, Any]

WORKERS: Final = "workers"
CONTROL_PLANE: Final = "control-plane"


def manifest(kind: Kind[Any], wish: Wish, name: str, spec: Mapping[str, Any]) -> Manifest:
    """One object. It has the cluster's label, by which all of it is found."""
    metadata = {"name": name, "namespace": wish.namespace, "labels": {CLUSTER_NAME: wish.name}}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata, "spec": dict(spec)}


def reference(kind: Kind[Any], name: str) -> Manifest:
    """How one object names another."""
    return {"apiGroup": kind.group, "kind": kind.kind, "name": name}


def named(wish: Wish, what: str) -> str:
    """The name of a part of a cluster."""
    return f"{wish.name}-{what}"
