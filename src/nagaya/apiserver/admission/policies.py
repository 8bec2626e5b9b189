"""Admission policies of one sort, with their bindings and parameters: which apply to a write, and to what.

A policy does nothing by itself: a binding puts it to use, may narrow it, and names its parameters. One policy with
several bindings or parameters is held against a write once for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from nagaya.apiserver.admission import reviews, rules, versions
from nagaya.apiserver.admission.configurations import Configurations
from nagaya.apiserver.admission.rules import GROUP, Equivalents, Shown
from nagaya.apiserver.admission.selecting import Selectors, namespace_not_found
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.selectors import label_selector

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes
    from nagaya.apiserver.cel.policy_expressions import Input

Evaluator = TypeVar("Evaluator")


class ConfigurationError(Exception):
    """A policy or binding that cannot be put to use for a write."""


class Matching:
    """The `matchConstraints` of a policy or the `matchResources` of a binding."""

    def __init__(self, spec: JsonObject) -> None:
        self._selectors = Selectors(spec)
        self._rules: Sequence[JsonObject] = spec.get("resourceRules") or ()
        self._excluded: Sequence[JsonObject] = spec.get("excludeResourceRules") or ()
        self._equivalent = spec.get("matchPolicy") != "Exact"
        self._known: dict[tuple[object, ...], tuple[list[tuple[JsonObject, Shown]], ...]] = {}
        self._generation = -1

    def match(self, write: Attributes, backend: Backend, equivalents: Equivalents) -> Shown | None:
        """The form in which to show a write that is meant; None if it is not. Raises ApiError."""
        if self._generation != equivalents.generation:
            self._generation, self._known = equivalents.generation, {}
        key = (write.resource.gvr, write.subresource, write.operation, bool(write.namespace))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = tuple(
                list(rules.match(each, write, equivalents, equivalent=self._equivalent))
                for each in (self._excluded, self._rules)
            )
        excluded, included = known
        if _named(excluded, write.name) is not None:
            return None
        form = _named(included, write.name) if self._rules else Shown(write.resource, write.kind)
        return form if form is not None and self._selectors.match(write, backend.store) else None


def _named(matching: Sequence[tuple[JsonObject, Shown]], name: str) -> Shown | None:
    for rule, form in matching:
        names = rule.get("resourceNames")
        if not names or name in names:
            return form
    return None


@dataclass(slots=True, eq=False)
class Binding:
    """What puts a policy to use."""

    name: str
    spec: JsonObject
    matching: Matching | None = field(init=False)

    def __post_init__(self) -> None:
        match = self.spec.get("matchResources")
        self.matching = None if match is None else Matching(match)


@dataclass(slots=True, eq=False)
class Policy(Generic[Evaluator]):
    """A policy; its expressions are compiled when they are first needed."""

    name: str
    spec: JsonObject
    compile: Callable[[JsonObject], Evaluator]
    matching: Matching = field(init=False)
    _evaluator: Evaluator | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.matching = Matching(self.spec.get("matchConstraints") or {})

    @property
    def ignores_failure(self) -> bool:
        """Whether a write goes through if the policy cannot be evaluated."""
        return self.spec.get("failurePolicy") == "Ignore"

    @property
    def evaluator(self) -> Evaluator:
        """The compiled policy."""
        if self._evaluator is None:
            self._evaluator = self.compile(self.spec)
        return self._evaluator


@dataclass(frozen=True, slots=True)
class Use(Generic[Evaluator]):
    """A policy to be held against a write because of a binding, with the parameters to use, each in its turn."""

    policy: Policy[Evaluator]
    binding: Binding | None = None
    form: Shown | None = None
    parameters: Sequence[JsonObject | None] = ()
    problem: str = ""  # why this cannot be done


class Policies(Generic[Evaluator]):
    """All policies of one sort. `sort` is `validating` or `mutating`."""

    def __init__(self, backend: Backend, sort: str, compile: Callable[[JsonObject], Evaluator]) -> None:
        self._backend = backend
        self._policies = Configurations(
            backend.store,
            f"{GROUP}/{sort}admissionpolicies",
            lambda obj: Policy(obj["metadata"]["name"], obj.get("spec") or {}, compile),
        )
        self._bindings = Configurations(
            backend.store,
            f"{GROUP}/{sort}admissionpolicybindings",
            lambda obj: Binding(obj["metadata"]["name"], obj.get("spec") or {}),
        )
        self._equivalents = Equivalents(backend.catalog)
        self._known = (-1, -1)
        self._bound: list[tuple[Policy[Evaluator], list[Binding]]] = []

    def any_bound(self) -> bool:
        """Whether there is any policy in use."""
        policies = self._policies.all
        if not policies:
            return False
        bindings = self._bindings.all
        known = (self._policies.generation, self._bindings.generation)
        if known != self._known:
            self._known = known
            by_name: dict[str, list[Binding]] = {}
            for binding in bindings:
                by_name.setdefault(binding.spec.get("policyName") or "", []).append(binding)
            self._bound = [(each, by_name[each.name]) for each in policies if each.name in by_name]
        return bool(self._bound)

    async def uses(self, write: Attributes) -> list[Use[Evaluator]]:
        """The policies that apply to a write."""
        if not self.any_bound() or rules.is_exempt(write):
            return []
        found: list[Use[Evaluator]] = []
        for policy, bindings in self._bound:
            try:
                form = policy.matching.match(write, self._backend, self._equivalents)
                if form is None:
                    continue
                resource = self._parameter_resource(policy.spec)
            except (ApiError, ConfigurationError) as error:
                found.append(Use(policy, problem=f"failed to configure policy: {error}"))
                continue
            for binding in bindings:
                try:
                    if not self._binds(binding, write):
                        continue
                    given = await self._parameters(resource, binding.spec.get("paramRef"), write.namespace)
                    found.append(Use(policy, binding, form, given))
                except (ApiError, ConfigurationError) as error:
                    found.append(Use(policy, binding, problem=f"failed to configure binding: {error}"))
        return found

    def _binds(self, binding: Binding, write: Attributes) -> bool:
        matching = binding.matching
        return matching is None or matching.match(write, self._backend, self._equivalents) is not None

    def _parameter_resource(self, spec: JsonObject) -> Resource | None:
        kind = spec.get("paramKind")
        if kind is None:
            return None
        group, version = GroupVersion.parse(kind.get("apiVersion") or "")
        wanted = GroupVersionKind(group, version, kind.get("kind") or "")
        found = self._backend.catalog.by_kind(wanted)
        if found is None:
            raise ConfigurationError(f"failed to find resource referenced by paramKind: '{wanted}'")
        return found

    async def _parameters(
        self, resource: Resource | None, reference: JsonObject | None, namespace: str
    ) -> Sequence[JsonObject | None]:
        if resource is None or reference is None:
            return [None]
        given = reference.get("namespace") or ""
        if resource.namespaced:
            given = given or namespace
            if not given:
                raise ConfigurationError(
                    "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                )
        elif given:
            raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
        store = self._backend.store
        if name := reference.get("name"):
            record = store.get(resource.table, resource.key(given, name))
            records = [] if record is None else [record]
        else:
            selector = label_selector.compiled(reference.get("selector"))
            listed = store.list(resource.table, f"{given}/" if resource.namespaced else "").records
            records = [each for each in listed if selector.matches(each.labels)]
        if not records and reference.get("parameterNotFoundAction") == "Deny":
            raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
        return list(await resource.codec.decode(records)) if records else []

    def namespace_of(self, write: Attributes) -> JsonObject | None:
        """The namespace that a write is in, for expressions. Raises 404."""
        if not write.namespace or write.kind == ("", "v1", "Namespace"):
            return None
        record = self._backend.store.get("namespaces", write.namespace)
        if record is None:
            raise namespace_not_found(write.namespace)
        return record.object()

    async def input(
        self, write: Attributes, form: Shown, parameters: JsonObject | None, namespace: JsonObject | None
    ) -> Input:
        """What the expressions of a policy see of a write."""
        from nagaya.apiserver.cel.policy_expressions import Input

        return Input(
            request=reviews.request(write, form),
            object=await versions.shown(write.object, write.resource, form),
            old_object=await versions.shown(write.old, write.resource, form),
            namespace=namespace,
            params=parameters,
            user=write.user,
            authorizer=self._backend.authorizer,
        )
