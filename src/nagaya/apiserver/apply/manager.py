"""Keeps `metadata.managedFields` for one kind in one version, and applies configurations to its objects.

Every write goes through here before admission: creations, replacements and patches through `update`, server-side
apply through `apply`. What an object says about its managers is never reason enough to refuse an update: records
that cannot be kept are dropped. An apply, which depends on them, fails instead.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import cached_property
from typing import Final, NamedTuple

from nagaya.apiserver.apply import fieldset, last_applied, managed, validation
from nagaya.apiserver.apply.conflicts import Conflicts
from nagaya.apiserver.apply.managed import APPLY, UPDATE, InvalidManagedFields, Managed, Manager, Owned
from nagaya.apiserver.apply.reset_fields import Filter
from nagaya.apiserver.apply.updater import Applied, Updater
from nagaya.apiserver.apply.versions import Convert, Untrackable, Versions
from nagaya.apiserver.apply.zero import zero_object
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.schema.types import Struct

_log = logging.getLogger(__name__)

_NEVER_OWNED: Final = fieldset.of(
    ["apiVersion"],
    ["kind"],
    ["metadata"],
    *(
        ["metadata", name]
        for name in (
            "name",
            "namespace",
            "creationTimestamp",
            "selfLink",
            "uid",
            "clusterName",
            "generation",
            "managedFields",
            "resourceVersion",
        )
    ),
)


class _Write(NamedTuple):
    """Who writes, when and through which subresource."""

    manager: str
    now: str
    subresource: str


class FieldManager:
    """Tracks who set which field of the objects of one kind.

    `types` has the type of the kind in each of its versions, the one of `kind` among them. `convert` brings objects
    into the other versions; without it there are none. `reset_fields` says by subresource (`""` is the main endpoint)
    and by apiVersion which fields a write there leaves alone.
    """

    def __init__(
        self,
        kind: GroupVersionKind,
        types: Mapping[str, Struct],
        *,
        convert: Convert | None = None,
        reset_fields: Mapping[str, Mapping[str, Filter]] | None = None,
    ) -> None:
        self._kind = kind
        self._version = kind.api_version
        versions = Versions(types, convert)
        atom = versions.atom(self._version)
        assert atom is not None, f"{self._version} is among the types"
        self._atom = atom
        self._type = types[self._version]
        self._plain = Updater(versions, self._version, {})
        self._updaters = {
            name: Updater(versions, self._version, ignored) for name, ignored in (reset_fields or {}).items()
        }

    @cached_property
    def _zero(self) -> JsonObject:
        """An object of the kind without content. Made when it is needed: most kinds are never written."""
        return zero_object(self._kind, self._type)

    async def update(
        self, live: JsonObject | None, new: JsonObject, *, manager: str, now: str, subresource: str = ""
    ) -> JsonObject:
        """The object to be written, with the managers it has after this write. `live` is None for a new object."""
        metadata = live.get("metadata") if live is not None else None
        is_tracked = metadata.__class__ is dict and bool(metadata.get("uid"))
        write = _Write(manager, now, subresource)
        try:
            owners = _starting_point(metadata, new.get("metadata"), subresource)
            if owners or not is_tracked:
                before = self._zero if live is None else _without_managers(live)
                owners = await self._updated(before, _without_managers(new), owners, write)
        except (Untrackable, InvalidManagedFields, ApiError, RecursionError) as error:
            # Not what it says: that may quote the object.
            _log.warning("managed fields of %s are dropped: %s", self._described(new), type(error).__name__)
            owners = {}
        return _with_managers(new, managed.encode(owners))

    async def apply(
        self,
        live: JsonObject | None,
        patch: JsonObject,
        *,
        manager: str,
        force: bool,
        now: str,
        subresource: str = "",
    ) -> JsonObject | None:
        """The object that applying a configuration makes of the live one; None when there is nothing to write.

        `live` is None, or an object without content, when the apply creates it. Raises ApiError: 409 for conflicts, 400
        for a configuration of another kind or with managedFields, 500 for one that does not fit the type.
        """
        before = {**self._zero, **(live or {})}
        entries = managed.entries_of(before.get("metadata"))
        try:
            recorded = _decoded(entries)
            self._check_kind(patch)
            write = _Write(manager, now, subresource)
            try:
                obj, owners = await self._applied(before, patch, recorded, write, force=force)
            except Conflicts as conflicts:
                if manager != last_applied.MANAGER:
                    raise
                rest = last_applied.unexpected(conflicts, self._atom, before, self._version)
                if rest is not None:
                    raise rest from conflicts
                obj, owners = await self._applied(before, patch, recorded, write, force=True)
        except Conflicts as conflicts:
            raise conflicts.error() from conflicts
        except Untrackable as error:
            raise ApiError(500, "", str(error)) from error
        except RecursionError as error:
            raise ApiError(500, "", f"{self._described(patch)} is nested too deeply") from error
        result = before if obj is None else obj
        if manager == last_applied.MANAGER:
            result = last_applied.refreshed(result, patch)
        written = managed.encode(owners)
        if live is not None and result is before and written == (entries or []):
            return None
        return _with_managers(result, written)

    def _check_kind(self, patch: JsonObject) -> None:
        try:
            version = GroupVersion.parse(patch.get("apiVersion") or "")
            kind = GroupVersionKind(version.group, version.version, patch.get("kind") or "")
        except (ValueError, AttributeError, TypeError):
            kind = GroupVersionKind("", "", "")
        if kind != self._kind:
            raise status.bad_request(f"invalid object type: {kind}")

    def _updater(self, subresource: str) -> Updater:
        return self._updaters.get(subresource, self._plain)

    async def _updated(self, live: JsonObject, new: JsonObject, owners: Managed, write: _Write) -> Managed:
        """The records after a write that is not an apply."""
        if not validation.fits(self._atom, new):
            self._refuse(f"failed to convert new object ({self._described(new)}) to smd typed", new, duplicates=True)
        owners, written = await self._updater(write.subresource).update(live, new, owners)
        written = fieldset.difference(written, _NEVER_OWNED)
        if written:
            actor = Manager(write.manager or "unknown", UPDATE, self._version, write.subresource)
            previous = owners.get(actor)
            fields = written if previous is None else fieldset.union(written, previous.fields)
            owners[actor] = Owned(fields, self._version, write.now)
        return managed.cap(owners)

    async def _applied(
        self, live: JsonObject, patch: JsonObject, owners: Managed, write: _Write, *, force: bool
    ) -> Applied:
        """The object and the records after an apply."""
        if not owners:
            earlier = _Write("before-first-apply", write.now, write.subresource)
            try:
                owners = await self._updated(self._zero, live, owners, earlier)
            except (Untrackable, ApiError) as error:
                raise Untrackable(f"failed to create manager for existing fields: {error}") from error
        if managed.entries_of(patch.get("metadata")) is not None:
            raise status.bad_request("metadata.managedFields must be nil")
        self._refuse(f"failed to create typed patch object ({self._described(patch)})", patch, duplicates=False)
        before = _without_managers(live)
        self._refuse(f"failed to create typed live object ({self._described(before)})", before, duplicates=True)
        actor = Manager(write.manager or "unknown", APPLY, "", write.subresource)
        last = owners.get(actor)
        obj, owners = await self._updater(write.subresource).apply(live, patch, owners, actor, force=force)
        owned = owners.pop(actor, None)
        if owned is not None and (fields := fieldset.difference(owned.fields, _NEVER_OWNED)):
            if obj is None and last is not None and last.fields == fields and last.api_version == owned.api_version:
                owners[actor] = last
            else:
                owners[actor] = Owned(fields, owned.api_version, owned.time if obj is None else write.now)
        return Applied(obj, owners)

    def _refuse(self, failure: str, obj: JsonObject, *, duplicates: bool) -> None:
        """Say what does not fit, if anything."""
        if validation.fits(self._atom, obj, duplicates=duplicates):
            return
        found = validation.problems(self._atom, obj, duplicates=duplicates)
        raise Untrackable(f"{failure}: {validation.message(found)}")

    def _described(self, obj: JsonObject) -> str:
        metadata = obj.get("metadata")
        place = metadata if isinstance(metadata, dict) else {}
        return f"{place.get('namespace') or ''}/{place.get('name') or ''}; {self._kind}"


def _starting_point(live_metadata: object, metadata: object, subresource: str) -> Managed:
    """The records that a write starts from: the ones it brings itself, if any, else the live object's."""
    live_entries = managed.entries_of(live_metadata)
    if not subresource:
        entries = managed.entries_of(metadata)
        if managed.is_reset(entries):
            return {}
        if entries is not None and entries != live_entries:
            try:
                return managed.decode(entries)
            except InvalidManagedFields:
                pass  # whoever does not understand the records must not lose them
    return managed.decode(live_entries or [])


def _decoded(entries: list[JsonObject] | None) -> Managed:
    try:
        return managed.decode(entries or [])
    except InvalidManagedFields as error:
        raise Untrackable(f"failed to decode managed fields: {error}") from error


def _without_managers(obj: JsonObject) -> JsonObject:
    metadata = obj.get("metadata")
    if metadata.__class__ is not dict or "managedFields" not in metadata:
        return obj
    return {**obj, "metadata": {key: value for key, value in metadata.items() if key != "managedFields"}}


def _with_managers(obj: JsonObject, entries: list[JsonObject]) -> JsonObject:
    if not entries:
        return _without_managers(obj)
    metadata = obj.get("metadata")
    return {**obj, "metadata": {**(metadata if isinstance(metadata, dict) else {}), "managedFields": entries}}
