"""The kinds of objects that a control plane consists of, and an object as it shall be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped

CONFIG_MAPS: Final = Kind("", "v1", "ConfigMap", "configmaps", Untyped)
SECRETS: Final = Kind("", "v1", "Secret", "secrets", Untyped)
SERVICES: Final = Kind("", "v1", "Service", "services", Untyped)
SERVICE_ACCOUNTS: Final = Kind("", "v1", "ServiceAccount", "serviceaccounts", Untyped)
DEPLOYMENTS: Final = Kind("apps", "v1", "Deployment", "deployments", Untyped)
DISRUPTION_BUDGETS: Final = Kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", Untyped)
NETWORK_POLICIES: Final = Kind("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", Untyped)

ALL: Final = (
    SERVICE_ACCOUNTS,
    SERVICES,
    NETWORK_POLICIES,
    DISRUPTION_BUDGETS,
    CONFIG_MAPS,
    SECRETS,
    DEPLOYMENTS,
)

Content = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Planned:
    """One object as it shall be: the fields that we decide, and no others. `repr` shows no Secret."""

    kind: Kind[Untyped]
    namespace: str
    name: str
    body: Mapping[str, Any]
    """Everything but its apiVersion, kind, name and namespace."""

    @property
    def content(self) -> Content:
        """The object, ready to be applied."""
        metadata = {"name": self.name, "namespace": self.namespace, **self.body["metadata"]}
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind, **self.body, "metadata": metadata}

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}"

    __repr__ = __str__
