"""Objects by something other than their name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeVar

from nagaya.api.kind import Object
from nagaya.kube.key import Key

T = TypeVar("T", bound=Object)
OWNER: Final = "owner"


class Index(Generic[T]):
    """Which keys have which values. A value without a key takes no memory."""

    __slots__ = ("_keys", "_sorted", "values")

    def __init__(self, values: Callable[[T], Iterable[str]]) -> None:
        self.values = values
        self._keys: dict[str, dict[Key, None]] = {}
        self._sorted: set[str] = set()

    def change(self, key: Key, old: T | None, new: T | None) -> None:
        """Take note of a change. What stays the same is not touched, so the order of keys stays as well."""
        before = [] if old is None else [*self.values(old)]
        after = [] if new is None else [*self.values(new)]
        if before == after:
            return
        for value in before:
            if value not in after:
                keys = self._keys.get(value)
                if keys is not None:
                    keys.pop(key, None)
                    if not keys:
                        del self._keys[value]
                        self._sorted.discard(value)
        for value in after:
            if value not in before:
                self._keys.setdefault(value, {})[key] = None
                self._sorted.discard(value)

    def keys(self, value: str) -> Iterable[Key]:
        """The keys that have a value, in order."""
        found = self._keys.get(value)
        if found is None:
            return ()
        if value not in self._sorted:
            found = self._keys[value] = dict.fromkeys(sorted(found))
            self._sorted.add(value)
        return found


def owner_uids(obj: Object) -> Iterable[str]:
    """The uids of all owners."""
    owners = obj.metadata.owner_references
    return [owner.uid for owner in owners] if owners else ()
