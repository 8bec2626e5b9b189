"""Defaults and checks that whoever starts a server brings along, for kinds that the server itself knows nothing of.

They do in the same process what webhooks do for a server elsewhere, at the same point of a write: after the server's
own plugins, before users' webhooks may look at the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from nagaya.apiserver.admission.chain import Plugin
from nagaya.apiserver.meta.gostring import quote
from nagaya.apiserver.meta.status import ApiError, JsonObject, aggregate
from nagaya.apiserver.storage import Store

if TYPE_CHECKING:
    from nagaya.apiserver.admission.attributes import Attributes


class Finding(Protocol):
    """What is wrong with a field."""

    @property
    def field(self) -> str:
        """Where."""
        ...

    @property
    def reason(self) -> str:
        """What kind of mistake, for programs."""
        ...

    @property
    def body(self) -> str:
        """What is wrong, for people, without the name of the field."""
        ...


Look = Callable[[str], Sequence[Mapping[str, Any]]]
"""Lists the objects of a resource, named as in `deployments.apps`."""


class Rules(Protocol):
    """Defaults and checks of one kind. The old object is None when one is created."""

    def default(self, new: Mapping[str, Any], old: Mapping[str, Any] | None, /) -> Mapping[str, Any]:
        """The object with what was left out. Any ValueError refuses the write."""
        ...

    def validate(self, new: Mapping[str, Any], old: Mapping[str, Any] | None, /) -> Sequence[Finding]:
        """What is wrong with the object."""
        ...

    def scale(self, parent: Mapping[str, Any], scale: Mapping[str, Any], /) -> Sequence[Finding]:
        """What is wrong with the number that a Scale gives an object."""
        ...

    @property
    def beside(self) -> Callable[[Mapping[str, Any], Mapping[str, Any] | None, Look], Sequence[Finding]] | None:
        """What is wrong with an object beside others, if its spec is new or another. None if nothing can be."""
        ...

    @property
    def keeps(self) -> Callable[[Mapping[str, Any], Look], str] | None:
        """Why an object must not be deleted; an empty text if it may be. None if it always may."""
        ...


class GivenRules(Plugin):
    """Applies the rules of each kind to its creates, updates and deletions."""

    def __init__(self, rules: Mapping[str, Rules], store: Store) -> None:
        self._rules = rules
        self._store = store
        self.resources = frozenset(rules)

    async def mutate(self, write: Attributes) -> None:
        """Fill in what was left out."""
        if write.object is None or write.subresource:
            return
        rules = self._rules[str(write.resource.group_resource)]
        try:
            write.object = {**rules.default(write.object, write.old)}
        except ValueError as error:
            raise write.forbidden(str(error)) from None

    async def validate(self, write: Attributes) -> None:
        """Refuse what is wrong."""
        rules = self._rules[str(write.resource.group_resource)]
        if write.subresource:
            live = write.resource.key(write.namespace, write.name)
            record = self._store.get(write.resource.table, live) if write.subresource == "scale" else None
            if (
                record is not None
                and write.object is not None
                and (found := rules.scale(record.object(), write.object))
            ):
                raise _invalid(write, found)
            return
        if write.object is None:
            why = rules.keeps(write.old, self._look) if rules.keeps is not None and write.old is not None else ""
            if why:
                raise write.forbidden(why)
            return
        found = rules.validate(write.object, write.old)
        changed = write.old is None or write.old.get("spec") != write.object.get("spec")
        if not found and changed and rules.beside is not None:
            found = rules.beside(write.object, write.old, self._look)
        if found:
            raise _invalid(write, found)

    def _look(self, resource: str) -> list[Mapping[str, Any]]:
        plural, _, group = resource.partition(".")
        return [record.object() for record in self._store.list(f"{group}/{plural}" if group else plural).records]


def _invalid(write: Attributes, found: Sequence[Finding]) -> ApiError:
    name = (write.object or {}).get("metadata", {}).get("name") or write.name
    kind = f"{write.kind.kind}.{write.kind.group}"
    texts = aggregate([f"{each.field}: {each.body}" for each in found])
    causes: list[JsonObject] = [{"reason": each.reason, "message": each.body, "field": each.field} for each in found]
    details: JsonObject = {"name": name, "group": write.kind.group, "kind": write.kind.kind, "causes": causes}
    return ApiError(422, "Invalid", f"{kind} {quote(name)} is invalid: {texts}", details)
