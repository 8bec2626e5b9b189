"""Which writes a webhook or policy is meant for, by their rules.

The answer depends on nothing but the resource, the operation and the scope, so it is computed once for each and kept.
With `matchPolicy: Equivalent` a rule for one version of a resource holds for the others, and the object is then shown
in the version that the rule names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.meta.gvk import GroupVersionKind, GroupVersionResource
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.catalog import Catalog
from nagaya.apiserver.registry.resource import Resource

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes

GROUP: Final = "admissionregistration.k8s.io"
_NAMESPACES: Final = GroupVersionResource("", "v1", "namespaces")
_EXEMPT: Final = frozenset(
    {
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    }
)


@dataclass(frozen=True, slots=True)
class Shown:
    """The form in which a write is shown to a webhook or policy."""

    resource: Resource
    kind: GroupVersionKind


def is_exempt(write: Attributes) -> bool:
    """Whether a write configures admission itself: nothing that is configured may get in its way."""
    return write.kind.group == GROUP and write.kind.kind in _EXEMPT


class Equivalents:
    """The other versions of each resource that is served."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._generation = -1
        self._by_table: dict[str, list[Resource]] = {}

    @property
    def generation(self) -> int:
        """Changes whenever what is served does."""
        return self._catalog.generation

    def of(self, resource: Resource, subresource: str) -> Iterator[Shown]:
        """The forms in which objects of a resource, or its subresource, can be had besides its own."""
        if self._generation != self._catalog.generation:
            self._generation = self._catalog.generation
            self._by_table = {}
            for each in self._catalog:
                self._by_table.setdefault(each.table, []).append(each)
        for each in self._by_table.get(resource.table, ()):
            if each.gvr == resource.gvr:
                continue
            if not subresource:
                yield Shown(each, each.gvk)
            elif found := each.subresources.get(subresource):
                yield Shown(each, found.kind)


def match(
    rules: Iterable[JsonObject], write: Attributes, equivalents: Equivalents, *, equivalent: bool
) -> Iterator[tuple[JsonObject, Shown]]:
    """The rules that a write falls under, in order, each with the form to show it in. Own version first."""
    subresource = write.subresource
    rules = [each for each in rules if _operation(each, write.operation)]
    if not rules:
        return
    for rule in rules:
        if _names(rule, write.resource.gvr, subresource, write.namespace):
            yield rule, Shown(write.resource, write.kind)
    if equivalent:
        others = list(equivalents.of(write.resource, subresource))
        for rule in rules:
            for other in others:
                if _names(rule, other.resource.gvr, subresource, write.namespace):
                    yield rule, other


def _operation(rule: JsonObject, operation: str) -> bool:
    return _wanted(rule.get("operations") or (), operation)


def _names(rule: JsonObject, gvr: GroupVersionResource, subresource: str, namespace: str) -> bool:
    return (
        _wanted(rule.get("apiGroups") or (), gvr.group)
        and _wanted(rule.get("apiVersions") or (), gvr.version)
        and _resource(rule.get("resources") or (), gvr.resource, subresource)
        and _scope(rule.get("scope"), gvr, namespace)
    )


def _wanted(items: Sequence[str], asked: str) -> bool:
    return "*" in items or asked in items


def _resource(items: Sequence[str], resource: str, subresource: str) -> bool:
    for item in items:
        name, _, part = item.partition("/")
        if name in ("*", resource) and part in ("*", subresource):
            return True
    return False


def _scope(scope: str | None, gvr: GroupVersionResource, namespace: str) -> bool:
    if scope is None or scope == "*":
        return True
    # The name of a namespace stands where the namespace of other objects does.
    cluster = gvr == _NAMESPACES or not namespace
    return cluster if scope == "Cluster" else scope == "Namespaced" and not cluster
