"""Where to find what a built-in kind does differently.

Areas are imported when one of their kinds is first touched: a server that never sees a pod never loads what is known
about pods. Every area has a module-level mapping `KINDS` of its resources; a kind that keeps state for its server is
there as a function that makes one.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.registry.strategy import Strategy

# By group, or by group and resource where one group has several areas.
_AREAS: Final[Mapping[str, str]] = {
    "": "core",
    "admissionregistration.k8s.io": "admission",
    "certificates.k8s.io": "certificate_signing_request",
    "coordination.k8s.io": "core",
    "discovery.k8s.io": "core",
    "events.k8s.io": "core",
    "apiextensions.k8s.io": "custom_resource_definition",
    "networking.k8s.io": "networking",
    "resource.k8s.io": "resource_claims",
    "apiregistration.k8s.io": "api_service",
    "flowcontrol.apiserver.k8s.io": "flow_control",
    "node.k8s.io": "node_runtime",
    "scheduling.k8s.io": "scheduling",
    "storage.k8s.io": "storage",
    "rbac.authorization.k8s.io": "rbac",
    "apps": "apps",
    "batch": "batch",
    "policy": "disruption_budget",
    "replicationcontrollers": "replication_controller",
    "autoscaling": "autoscaling",
    "pods": "pod",
    "podtemplates": "pod",
}
_PLAIN: Final = Kind(Strategy())


def kind_of(resource: GroupResource) -> Kind:
    """How a kind behaves."""
    area = _AREAS.get(str(resource)) or _AREAS.get(resource.group)
    if area is None:
        return _PLAIN
    module = importlib.import_module(f"nagaya.apiserver.builtins.kinds.{area}")
    kinds: Mapping[GroupResource, Kind | Callable[[], Kind]] = module.KINDS
    found = kinds.get(resource, _PLAIN)
    return found if isinstance(found, Kind) else found()
