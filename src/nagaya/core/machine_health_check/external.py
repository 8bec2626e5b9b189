"""Remediation by somebody else: requests that are made from a template and have the names of their machines.

A template names its version itself, unlike other references to objects of providers: what is written there is spoken.
What always holds: there is at most one request of a kind for a machine, because both have the same name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.api.cluster.machine import MACHINES, Machine
from nagaya.api.cluster.machine_health_check import MachineHealthCheck
from nagaya.api.cluster.reference import TemplateReference
from nagaya.api.contract.template import SUFFIX, clone
from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.clusters.external import keep
from nagaya.clusters.owners import owner
from nagaya.kube.cache.cache import Cache
from nagaya.kube.contract_kinds import DEFINITIONS, NAMESPACED
from nagaya.kube.key import Key

_BY_NAMES: Final = "kind and group, for remediation"


@dataclass(frozen=True, slots=True)
class External:
    """What is known of the template and of the requests in the namespace of a check."""

    template: Untyped | None
    """None if it does not exist."""
    request_kind: Kind[Untyped] | None
    """None if nobody serves it."""
    requests: Mapping[str, Untyped]
    """By the name of their machine."""


class RemediationKinds:
    """Finds the kinds that templates and their requests are served as."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        keep(cache, (DEFINITIONS,))
        cache.add_index(DEFINITIONS, _BY_NAMES, lambda each: (f"{each.spec.names.kind}.{each.spec.group}",))

    def template(self, reference: TemplateReference) -> Kind[Untyped] | None:
        """The kind of a template, if it is served."""
        return self._kind(reference.api_version, reference.kind)

    def request(self, reference: TemplateReference) -> Kind[Untyped] | None:
        """The kind of the requests that are made from a template, if it is served."""
        return self._kind(reference.api_version, reference.kind.removesuffix(SUFFIX))

    def _kind(self, api_version: str, name: str) -> Kind[Untyped] | None:
        group, _, version = api_version.rpartition("/")
        found = self._cache.by(DEFINITIONS, _BY_NAMES, f"{name}.{group}")
        if not found or found[0].spec.scope != NAMESPACED:
            return None  # a reference from a namespace must not lead out of it
        return Kind(group, version, name, found[0].spec.names.plural, Untyped)


def look_up(cache: Cache, kinds: RemediationKinds, check: MachineHealthCheck) -> External | None:
    """What the cache knows of a check's external remediation, None if its machines' owners remediate."""
    reference = check.spec.remediation.template_ref
    if reference is None:
        return None
    namespace = check.metadata.namespace
    template_kind, request_kind = kinds.template(reference), kinds.request(reference)
    template = None if template_kind is None else cache.get(template_kind, Key(namespace, reference.name))
    listed = () if request_kind is None else cache.list(request_kind, namespace)
    return External(template, request_kind, {each.metadata.name: each for each in listed})


def request_for(template: Untyped, machine: Machine) -> Untyped:
    """The request to remediate a machine. It goes with the machine."""
    name = machine.metadata.name
    return clone(template, name=name, cluster=machine.spec.cluster_name, owner=owner(MACHINES, machine))
