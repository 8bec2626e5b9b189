"""The kubelets of a tenant, which may be up to three minor versions older than its API servers and never newer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.clusters.kubernetes_version import parse
from nagaya.clusters.node import NODES, Node
from nagaya.kube.cache.change import Change
from nagaya.kube.remote import Remote

OLDER: Final = 3
"""By how many minor versions a kubelet may be older than an API server."""


def kubelets(remote: Remote | None) -> Mapping[str, str] | None:
    """The versions of a tenant's kubelets, by the names of their Nodes; None as long as not all Nodes are known."""
    if remote is None or not remote.cache.is_synced(NODES):
        return None
    return {each.metadata.name: _version(each) for each in remote.cache.list(NODES)}


def too_old(found: Mapping[str, str], minor: int) -> list[str]:
    """The Nodes whose kubelets cannot work with API servers of a minor version, each with its version."""
    numbers = {name: parse(version) for name, version in found.items()}
    old = [name for name, number in sorted(numbers.items()) if number is not None and number.minor < minor - OLDER]
    return [f"{name} ({found[name]})" for name in old]


def is_news(change: Change[Node]) -> bool:
    """Whether a Node came, went, or has another kubelet."""
    return change.old is None or change.new is None or _version(change.old) != _version(change.new)


def _version(node: Node) -> str:
    return str(node.status.node_info.get("kubeletVersion", ""))
