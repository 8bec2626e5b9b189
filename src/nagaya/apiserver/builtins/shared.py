"""Kinds that several resources serve: one stored object, several forms of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.builtins.converting import Convert
from nagaya.apiserver.builtins.kinds import event_conversion, hpa_conversion
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject


@dataclass(frozen=True, slots=True)
class Shared:
    """A form of a kind that is stored in another one."""

    stored: GroupVersionKind
    table: str
    to_served: Convert
    to_stored: Convert


SHARED: Final[Mapping[GroupVersionKind, Shared]] = {
    GroupVersionKind("events.k8s.io", "v1", "Event"): Shared(
        GroupVersionKind("", "v1", "Event"), "events", event_conversion.to_events, event_conversion.to_core
    ),
    GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"): Shared(
        GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"),
        "autoscaling/horizontalpodautoscalers",
        hpa_conversion.to_v1,
        hpa_conversion.to_v2,
    ),
}
"""By the kind that is served and not stored."""


def forms_of(kind: GroupVersionKind) -> Mapping[str, GroupVersionKind]:
    """All forms of a kind in its own group by apiVersion, itself among them.

    Who set which field in the form of another group is not carried over, as in the real server.
    """
    stored = SHARED[kind].stored if kind in SHARED else kind
    forms = [stored, *(served for served, shared in SHARED.items() if shared.stored == stored)]
    return {each.api_version: each for each in forms if each.group == kind.group}


def convert(obj: JsonObject, api_version: str) -> JsonObject | None:
    """An object in another of its forms, through the stored one; None if there is no such form."""
    group, _, version = str(obj["apiVersion"]).rpartition("/")
    kind = GroupVersionKind(group, version, str(obj["kind"]))
    target = forms_of(kind).get(api_version)
    if target is None:
        return None
    if target == kind:
        return obj
    stored = SHARED[kind].to_stored(obj) if kind in SHARED else obj
    made = SHARED[target].to_served(stored) if target in SHARED else stored
    return {**made, "kind": target.kind, "apiVersion": api_version}
