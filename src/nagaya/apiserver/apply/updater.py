"""Who owns what after a write: the algorithm of server-side apply.

A write that is not an apply takes every field it changes away from all other managers. An apply merges a configuration
into the object, takes back what its manager applied before and no longer does, and refuses to change fields of others
unless it is forced. Records made in other versions are followed in those versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from nagaya.apiserver.apply import fieldset, validation
from nagaya.apiserver.apply.atoms import Atom
from nagaya.apiserver.apply.compare import Comparison, compare
from nagaya.apiserver.apply.conflicts import Conflict, Conflicts
from nagaya.apiserver.apply.equality import same
from nagaya.apiserver.apply.fieldset import FieldSet
from nagaya.apiserver.apply.managed import Managed, Manager, Owned, replaced
from nagaya.apiserver.apply.merge import merge
from nagaya.apiserver.apply.reconcile import recorded
from nagaya.apiserver.apply.removal import remove
from nagaya.apiserver.apply.reset_fields import Filter
from nagaya.apiserver.apply.value_set import set_of, with_named_fields
from nagaya.apiserver.apply.versions import Untrackable, Versions
from nagaya.apiserver.meta.status import ApiError, JsonObject


class Applied(NamedTuple):
    """What an apply makes of an object, which is None when the object stays as it is, and of its records."""

    object: JsonObject | None
    managed: Managed


Lives = dict[str, JsonObject | None]
"""The live object in each version it was needed in; None where there is no such version."""


class _Changes(NamedTuple):
    """The fields that a write gives a value, and the ones that other managers lose by it."""

    written: FieldSet
    lost: FieldSet

    @classmethod
    def of(cls, comparison: Comparison) -> _Changes:
        written = comparison.written
        return cls(written, fieldset.union(written, comparison.removed))


class Updater:
    """Works in one version of a kind; `ignored` says by version which fields do not count."""

    def __init__(self, versions: Versions, api_version: str, ignored: Mapping[str, Filter]) -> None:
        atom = versions.atom(api_version)
        assert atom is not None, f"{api_version} is among the versions of the kind"
        self._atom = atom
        self._versions = versions
        self._version = api_version
        self._ignored = ignored

    async def update(self, live: JsonObject, new: JsonObject, managed: Managed) -> tuple[Managed, FieldSet]:
        """What is left to the managers there are, and the fields that the write has set."""
        lives: Lives = {self._version: live}
        managed = await self._reconciled(lives, managed)
        comparison = self._comparison(self._version, self._atom, live, new)
        others = await self._taken_over(lives, new, managed, comparison)
        return others, comparison.written

    async def apply(
        self, live: JsonObject, config: JsonObject, managed: Managed, manager: Manager, *, force: bool
    ) -> Applied:
        """Apply a configuration for a manager. Raises `Conflicts` unless forced."""
        lives: Lives = {self._version: live}
        managed = await self._reconciled(lives, managed)
        new: JsonObject = merge(self._atom, live, config)
        last = managed.get(manager)
        fields = self._counted(self._version, set_of(self._atom, config))
        managed[manager] = Owned(fields, self._version, last.time if last is not None else None)
        if last is not None and last.fields and not self._keeps_all(last, fields):
            new = await self._pruned(new, managed, last)
        comparison = self._comparison(self._version, self._atom, live, new)
        managed = await self._taken_over(lives, new, managed, comparison, manager, force=force)
        return Applied(None if same(live, new) else new, managed)

    def _keeps_all(self, last: Owned, fields: FieldSet) -> bool:
        """Whether a manager goes on applying everything it applied last time, so that there is nothing to prune."""
        return last.api_version == self._version and not fieldset.difference(last.fields, fields)

    def _counted(self, api_version: str, fields: FieldSet) -> FieldSet:
        counted = self._ignored.get(api_version)
        return fields if counted is None else counted(fields)

    def _comparison(self, api_version: str, atom: Atom, live: JsonObject, new: JsonObject) -> Comparison:
        try:
            comparison = compare(atom, live, new)
        except ValueError as error:  # pruning can take away what list items are told apart by; schemas change
            found = validation.problems(atom, new, duplicates=True) or validation.problems(atom, live, duplicates=True)
            raise Untrackable(f"failed to compare objects: {validation.message(found)}") from error
        counted = self._ignored.get(api_version)
        return comparison if counted is None else Comparison(*map(counted, comparison))

    async def _reconciled(self, lives: Lives, managed: Managed) -> Managed:
        """The records in the terms of today's schemas. Those of versions that are gone are dropped."""
        result: Managed = {}
        for manager, owned in managed.items():
            version = owned.api_version
            if version not in lives:
                live = lives[self._version]
                assert live is not None
                lives[version] = await self._versions.converted(live, version)
            atom = self._atom if version == self._version else self._versions.atom(version)
            if lives[version] is not None and atom is not None:
                result[manager] = replaced(owned, recorded(atom, owned.text)) if owned.text else owned
        return result

    async def _taken_over(
        self,
        lives: Lives,
        new: JsonObject,
        managed: Managed,
        comparison: Comparison,
        actor: Manager | None = None,
        *,
        force: bool = True,
    ) -> Managed:
        """The records without the fields that change, except the actor's own. Raises `Conflicts` unless forced."""
        changes = {self._version: _Changes.of(comparison)}
        result: Managed = {}
        conflicts: list[Conflict] = []
        for manager, owned in managed.items():
            fields = owned.fields
            if manager != actor:
                version = owned.api_version
                if version not in changes:
                    there = await self._comparison_in(version, lives, new)
                    if there is None:
                        continue
                    changes[version] = _Changes.of(there)
                written, lost = changes[version]
                if not force and (disputed := fieldset.intersection(fields, written)):
                    conflicts += [Conflict(manager, path) for path in fieldset.paths(disputed)]
                fields = fieldset.difference(fields, lost)
            if fields:
                result[manager] = replaced(owned, fields)
        if conflicts:
            raise Conflicts(conflicts)
        return result

    async def _comparison_in(self, api_version: str, lives: Lives, new: JsonObject) -> Comparison | None:
        live = lives[api_version]
        atom = self._versions.atom(api_version)
        new_there = await self._converted(new, api_version, "failed to convert new object")
        if live is None or atom is None or new_there is None:
            return None
        return self._comparison(api_version, atom, live, new_there)

    async def _converted(self, obj: JsonObject, api_version: str, failure: str) -> JsonObject | None:
        try:
            return await self._versions.converted(obj, api_version)
        except (Untrackable, ApiError) as error:
            raise Untrackable(f"{failure}: {error}") from error

    async def _pruned(self, merged: JsonObject, managed: Managed, last: Owned) -> JsonObject:
        """The object without what the manager applied last time, no longer applies, and nobody else owns."""
        version = last.api_version
        merged_then = await self._converted(
            merged, version, "failed to prune fields: failed to convert merged object to last applied version"
        )
        atom = self._versions.atom(version)
        if merged_then is None or atom is None:
            return merged
        pruned = remove(atom, merged_then, with_named_fields(last.fields, atom))
        pruned = await self._with_owned(merged_then, pruned, managed, version)
        pruned = await self._with_dangling(merged_then, pruned, last, atom)
        result = await self._converted(pruned, self._version, "failed to prune fields")
        if result is None:
            raise Untrackable(f"failed to prune fields: no version {self._version}")
        return result

    async def _with_owned(
        self, merged: JsonObject, pruned: JsonObject, managed: Managed, pruned_version: str
    ) -> JsonObject:
        """The pruned object with everything that someone owns put back."""
        sets: dict[str, list[FieldSet]] = {}
        for owned in managed.values():
            sets.setdefault(owned.api_version, []).append(owned.fields)
        owned_in = {version: fieldset.union_all(fields) for version, fields in sets.items()}
        # Its own version first: a conversion may need fields that were pruned and are put back here.
        for version in sorted(owned_in, key=lambda version: (version != pruned_version, version)):
            failure = "failed to prune fields: failed add back owned items: failed to convert"
            merged_there = await self._converted(merged, version, f"{failure} merged object at version {version}")
            pruned_there = await self._converted(pruned, version, f"{failure} pruned object at version {version}")
            atom = self._versions.atom(version)
            if merged_there is None or pruned_there is None or atom is None:
                continue
            merged = merged_there
            before = with_named_fields(set_of(atom, merged), atom)
            kept = with_named_fields(set_of(atom, pruned_there), atom)
            owned_there = with_named_fields(owned_in[version], atom)
            pruned = remove(atom, merged, fieldset.difference(before, fieldset.union(kept, owned_there)))
        return pruned

    async def _with_dangling(self, merged: JsonObject, pruned: JsonObject, last: Owned, atom: Atom) -> JsonObject:
        """The pruned object with everything put back that the manager did not own."""
        failure = "failed add back dangling items: failed to convert pruned object to last applied version"
        pruned_then = await self._converted(pruned, last.api_version, f"failed to prune fields: {failure}")
        if pruned_then is None:
            return merged
        before = with_named_fields(set_of(atom, merged), atom)
        kept = with_named_fields(set_of(atom, pruned_then), atom)
        gone = fieldset.intersection(fieldset.difference(before, kept), with_named_fields(last.fields, atom))
        result: JsonObject = remove(atom, merged, gone)
        return result
