"""What a CRD says of a kind beside its schema: how it is listed, named and scaled.

A `Definition` stands next to the `Kind` of a type, in the module of the type. `nagaya.api.crd` makes a
CustomResourceDefinition of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.api.kind import Kind

CLUSTERCTL_LABEL: Final = "clusterctl.cluster.x-k8s.io"
"""clusterctl finds the kinds that it moves between management clusters by this label."""
DELETE_FOR_MOVE: Final = f"{CLUSTERCTL_LABEL}/delete-for-move"
"""An annotation of objects that go because they have moved."""

PROVIDER_LABEL: Final = "cluster.x-k8s.io/provider"
"""Which provider a CRD belongs to."""

CONTRACT: Final = "v1beta2"
"""The version of the contract between the core and its providers that our kinds fulfil."""

CORE_LABELS: Final[Mapping[str, str]] = {CLUSTERCTL_LABEL: "", PROVIDER_LABEL: "cluster-api"}


def provider_labels(provider: str, version: str = "v1beta2") -> Mapping[str, str]:
    """Labels for the CRDs of a provider, such as `bootstrap-kubeadm`, that fulfils the contract with one version."""
    return {CLUSTERCTL_LABEL: "", PROVIDER_LABEL: provider, f"cluster.x-k8s.io/{CONTRACT}": version}


@dataclass(frozen=True, slots=True)
class Column:
    """A column that `kubectl get` prints; those with a priority above zero only with `-o wide`."""

    name: str
    path: str
    type: str = "string"
    priority: int = 0
    description: str = ""
    format: str = ""


def age(noun: str) -> Column:
    """The column that every kind has."""
    return Column("Age", ".metadata.creationTimestamp", "date", description=f"How long ago the {noun} was created.")


def condition(type_: str, name: str = "", *, description: str, priority: int = 0) -> Column:
    """A column that shows whether a condition holds."""
    path = f'.status.conditions[?(@.type=="{type_}")].status'
    return Column(name or type_, path, priority=priority, description=description)


PAUSED_COLUMN: Final = condition("Paused", description="Whether controllers leave the object alone.", priority=10)


@dataclass(frozen=True, slots=True)
class Scale:
    """Where `kubectl scale` and autoscalers find the number of replicas."""

    spec_replicas: str = ".spec.replicas"
    status_replicas: str = ".status.replicas"
    selector: str = ".status.selector"


@dataclass(frozen=True, slots=True)
class Definition:
    """All that a CustomResourceDefinition says of a kind, except the schema, which the model of the kind gives."""

    kind: Kind[Any]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ("cluster-api",)
    columns: tuple[Column, ...] = ()
    scale: Scale | None = None
    status: bool = True
    labels: Mapping[str, str] = field(default_factory=lambda: CORE_LABELS)
    description: str = ""
    """What `kubectl explain` says of the kind; the docstring of the model if left out."""
