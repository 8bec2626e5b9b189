"""What subscribers of the cache are told."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

from nagaya.api.kind import Object

T = TypeVar("T", bound=Object)


class Change(NamedTuple, Generic[T]):
    """An object before and after: None before it was there, None after it is gone."""

    old: T | None
    new: T | None

    @property
    def object(self) -> T:
        """The object as it is, or as it was last."""
        found = self.old if self.new is None else self.new
        assert found is not None
        return found
