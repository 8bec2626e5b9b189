"""Where a condition comes from: messages that put many objects together name them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.kind import Kind, Object
from nagaya.api.meta import Condition
from nagaya.api.untyped import Untyped
from nagaya.kube.conditions.condition import Conditions
from nagaya.kube.conditions.untyped import conditions_of

CONTROL_PLANE_LABEL: Final = "cluster.x-k8s.io/control-plane"


@dataclass(frozen=True, slots=True)
class Source:
    """An object with conditions."""

    kind: str
    name: str
    conditions: Conditions = ()
    control_plane_machine: bool = False

    @classmethod
    def of(cls, kind: Kind[Any], obj: Object) -> Source:
        """An object as a source, with the conditions of its status."""
        if isinstance(obj, Untyped):
            conditions = conditions_of(obj)
        else:
            conditions = getattr(getattr(obj, "status", None), "conditions", None) or ()
        metadata = obj.metadata
        return cls(
            kind=kind.kind,
            name=metadata.name,
            conditions=tuple(conditions),
            control_plane_machine=kind.kind == "Machine" and CONTROL_PLANE_LABEL in metadata.labels,
        )


@dataclass(frozen=True, slots=True)
class Reported:
    """A condition, and the object that has it."""

    source: Source
    condition: Condition
