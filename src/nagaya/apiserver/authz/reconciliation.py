"""Keeping the default roles and bindings complete without taking away what an administrator added.

On every start the server compares what is there with what should be: missing rules, subjects, labels, annotations and
selectors are added, nothing is removed. An object whose auto-update annotation says "false" is left alone. A binding to
another role is made anew, since that cannot be changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final, NamedTuple

from nagaya.apiserver.authz import bootstrap_policy
from nagaya.apiserver.authz.policy_rules import uncovered
from nagaya.apiserver.authz.policy_table import AUTO_UPDATE
from nagaya.apiserver.authz.rbac import CLUSTER_ROLES, ROLES
from nagaya.apiserver.meta.status import JsonObject

Lookup = Callable[[str, str, str], JsonObject | None]  # resource, namespace, name

_ROLE_RESOURCES: Final = frozenset({ROLES, CLUSTER_ROLES})


class Step(Enum):
    """What has to be done with an object."""

    CREATE = "create"
    UPDATE = "update"
    RECREATE = "recreate"


class Repair(NamedTuple):
    """One write that brings the stored objects closer to the defaults. A recreation deletes the old object first."""

    step: Step
    resource: str
    object: JsonObject


def repairs(lookup: Lookup) -> Iterator[Repair]:
    """The writes that make all defaults complete, in order. Each object is looked up when its turn comes."""
    for resource, expected in bootstrap_policy.everything():
        metadata = expected["metadata"]
        existing = lookup(resource, metadata.get("namespace") or "", metadata["name"])
        repair = reconcile(resource, expected, existing)
        if repair is not None:
            yield repair


def reconcile(resource: str, expected: JsonObject, existing: JsonObject | None) -> Repair | None:
    """The write that one object needs; None if it is complete or wants to be left alone."""
    if existing is None:
        return Repair(Step.CREATE, resource, expected)
    if (existing["metadata"].get("annotations") or {}).get(AUTO_UPDATE) == "false":
        return None
    if resource in _ROLE_RESOURCES:
        changed = _reconciled_role(expected, existing)
    else:
        if existing.get("roleRef") != expected["roleRef"]:
            return Repair(Step.RECREATE, resource, expected)
        changed = _reconciled_binding(expected, existing)
    changed["metadata"] = _reconciled_metadata(expected["metadata"], existing["metadata"])
    return None if changed == existing else Repair(Step.UPDATE, resource, changed)


def _reconciled_metadata(expected: JsonObject, existing: JsonObject) -> JsonObject:
    metadata = dict(existing)
    for member in ("annotations", "labels"):
        metadata[member] = {**expected[member], **(existing.get(member) or {})}
    return metadata


def _reconciled_role(expected: JsonObject, existing: JsonObject) -> JsonObject:
    role = dict(existing)
    rules = existing.get("rules") or []
    missing = uncovered(rules, expected["rules"] or [])
    if missing:
        role["rules"] = [*rules, *missing]
    wanted = expected.get("aggregationRule")
    if wanted is None:
        # A role that is not put together from others must not be, or its own rules would be overwritten.
        role.pop("aggregationRule", None)
        return role
    selectors = (existing.get("aggregationRule") or {}).get("clusterRoleSelectors") or []
    added = [each for each in wanted["clusterRoleSelectors"] if each not in selectors]
    if added:
        role["aggregationRule"] = {"clusterRoleSelectors": [*selectors, *added]}
    return role


def _reconciled_binding(expected: JsonObject, existing: JsonObject) -> JsonObject:
    binding = dict(existing)
    subjects = existing.get("subjects") or []
    missing = [subject for subject in expected.get("subjects") or () if subject not in subjects]
    if missing:
        binding["subjects"] = [*subjects, *missing]
    return binding
