"""Holds the expressions of a ValidatingAdmissionPolicy against the kinds it is about.

Policies may be written for kinds that do not exist yet, so nothing that is found here refuses a policy; it becomes a
warning in its status. Only kinds that are named are looked at, not those a wildcard would match, and at most ten.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.declarations import parse_type
from nagaya.apiserver.cel.environment import BASE, Environment
from nagaya.apiserver.cel.policy_types import VARIABLES, PolicyTypes, of_variable
from nagaya.apiserver.cel.program import CompileError, PlanError, Program, compile
from nagaya.apiserver.cel.types import CelType
from nagaya.apiserver.controllers.object_types import ObjectTypes
from nagaya.apiserver.meta.gvk import GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.catalog import Catalog
from nagaya.apiserver.registry.resource import Resource

MOST_KINDS: Final = 10


def warnings(policy: JsonObject, catalog: Catalog) -> list[JsonObject]:
    """What the checks found, expression by expression."""
    checks = [_Check(policy, each, catalog) for each in kinds_of(policy, catalog)]
    found = []
    for position, validation in enumerate(policy["spec"].get("validations") or ()):
        for member in ("expression", "messageExpression"):
            if text := validation.get(member):
                problems = [words for each in checks if (words := each.problem(text))]
                if problems:
                    where = f"spec.validations[{position}].{member}"
                    found.append({"fieldRef": where, "warning": "\n".join(problems)})
    return found


def kinds_of(policy: JsonObject, catalog: Catalog) -> list[Resource]:
    """The kinds that a policy names, in order."""
    found: dict[GroupVersionKind, Resource] = {}
    for rule in (policy["spec"].get("matchConstraints") or {}).get("resourceRules") or ():
        for each in _named(rule, catalog):
            if len(found) < MOST_KINDS:
                found[each.gvk] = each
    return [found[kind] for kind in sorted(found)]


def _named(rule: JsonObject, catalog: Catalog) -> Iterator[Resource]:
    groups, versions = rule.get("apiGroups") or [], rule.get("apiVersions") or []
    if "*" in groups or "*" in versions:
        return
    for group in sorted(groups):
        for version in sorted(versions):
            for name in sorted(rule.get("resources") or ()):
                resource = catalog.get(group, version, name)
                if resource is not None:
                    yield resource


class _Check:
    """The expressions of one policy, as they are for objects of one kind."""

    def __init__(self, policy: JsonObject, resource: Resource, catalog: Catalog) -> None:
        self._kind = resource.gvk
        self._variables: dict[str, CelType] = {}
        self._objects = ObjectTypes(PolicyTypes(self._variables, patches=False))
        declared = self._objects.declare(resource.struct, resource.kind) or types.DYN
        self._known = {
            "object": declared,
            "oldObject": declared,
            "namespaceObject": types.struct("kubernetes.Namespace"),
            "request": types.struct("kubernetes.AdmissionRequest"),
            "authorizer": parse_type("kubernetes.authorization.Authorizer"),
            "authorizer.requestResource": parse_type("kubernetes.authorization.ResourceCheck"),
            "variables": types.struct(VARIABLES),
        }
        if parameters := policy["spec"].get("paramKind"):
            self._known["params"] = self._parameters(parameters, catalog)
        for variable in policy["spec"].get("variables") or ():
            try:
                known = of_variable(self._compiled(variable["expression"]).result_type)
            except (CompileError, PlanError):
                known = types.DYN
            self._variables[variable["name"]] = known

    def _parameters(self, kind: JsonObject, catalog: Catalog) -> CelType:
        group, _, version = (kind.get("apiVersion") or "").rpartition("/")
        resource = catalog.by_kind(GroupVersionKind(group, version, kind.get("kind") or ""))
        found = None if resource is None else self._objects.declare(resource.struct, f"params.{resource.kind}")
        return types.DYN if found is None else found

    def _compiled(self, text: str) -> Program:
        return compile(text, Environment(BASE.functions, self._known, self._objects))

    def problem(self, text: str) -> str:
        """What is wrong with an expression; nothing if it is right."""
        group, version, kind = self._kind
        try:
            self._compiled(text)
        except CompileError as error:
            return f"{group}/{version}, Kind={kind}: {error}\n"
        except PlanError as error:
            return f"{group}/{version}, Kind={kind}: type checking error: {error}\n"
        return ""
