"""The versions that a kind has, what objects look like in each, and the way from one to another.

Records of ownership stay in the version they were written in. To compare them with an object, the object is
converted; a version that no longer exists makes its records void.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from nagaya.apiserver.apply import validation
from nagaya.apiserver.apply.atoms import Atom, atom_of
from nagaya.apiserver.meta.gvk import GroupVersion
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import Struct

Convert = Callable[[JsonObject, str], Awaitable[JsonObject | None]]
"""Brings an object into another apiVersion; None when there is no such version."""


class Untrackable(Exception):
    """Ownership cannot be worked out. An apply fails with these words; any other write drops the records."""


class Versions:
    """All versions of one kind. The same types serve every request, so they are looked up, never changed."""

    def __init__(self, types: Mapping[str, Struct], convert: Convert | None) -> None:
        self._types = types
        self._convert = convert

    def atom(self, api_version: str) -> Atom | None:
        """The type in a version; None when there is no such version."""
        struct = self._types.get(api_version)
        return None if struct is None else atom_of(struct)

    async def converted(self, obj: JsonObject, api_version: str) -> JsonObject | None:
        """The object in another version; None when there is no such version."""
        if obj.get("apiVersion") == api_version:
            return obj
        try:
            GroupVersion.parse(api_version)
        except ValueError as error:
            raise Untrackable(str(error)) from error
        result = await self._convert(obj, api_version) if self._convert is not None else None
        atom = self.atom(api_version)
        if result is None or atom is None:
            return None
        if not validation.fits(atom, result, duplicates=False):
            raise Untrackable(validation.message(validation.problems(atom, result)))
        return result
