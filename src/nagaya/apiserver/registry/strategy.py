"""What a kind does differently from every other kind.

The write path (`create`, `update`, `delete` in this room) is the same for all; where Kubernetes lets a kind have its
own say, the path calls its `Strategy`. The base class is the behaviour of a kind that has nothing to say. Objects
handed to the methods that return nothing are owned by the write path and may be changed in place; `old` never may.

Order on create: `default` (while decoding) -> admission -> `prepare_create` -> `validate_create` -> `canonicalize`.
Order on update: `default` -> managed fields -> admission -> `prepare_update` -> `validate_update` -> `canonicalize`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final

from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.names import NameCheck
from nagaya.apiserver.meta.status import JsonObject

if TYPE_CHECKING:
    from nagaya.apiserver.registry.call import Call
    from nagaya.apiserver.web.options import DeleteOptions

Undo = Callable[[bool], Awaitable[None] | None]


class Dependents(Enum):
    """What happens by default to the dependents of a deleted object."""

    DELETE = "delete"
    ORPHAN = "orphan"
    UNSUPPORTED = "unsupported"  # the kind takes no part in garbage collection


NAME_FIELDS: Final = frozenset({"metadata.name", "metadata.namespace"})


class Strategy:
    """The behaviour of a kind without peculiarities."""

    allow_create_on_update: bool = False
    allow_unconditional_update: bool = True
    dependents: Dependents = Dependents.DELETE
    # The rule for names; `generateName` is held to it too unless the kind's validation is of the newer sort.
    name_check: NameCheck = staticmethod(names.name_is_subdomain)
    generate_name_checked: bool = True
    # Whether a random suffix makes a name out of `generateName`; else the prefix itself is the name.
    suffixes_names: bool = True
    # Whether metadata is held to the rules before the kind's own; else only if those find nothing.
    metadata_first: bool = True
    # Whether finalizers have to be the known ones or have a domain, as for built-in kinds.
    finalizers_checked: bool = True
    # Whether the conditions of a deletion are checked, and worded, by the store.
    store_checks_preconditions: bool = False
    # Whether a finished deletion is answered with the object instead of a Status.
    returns_deleted: bool = False
    # Fields a fieldSelector may name besides metadata.name and metadata.namespace.
    selectable_fields: frozenset[str] = frozenset()
    # Fields that cannot be owned through this endpoint, as top-level paths: ("status",) or ("metadata.labels", "spec").
    reset_fields: tuple[str, ...] = ()

    def default(self, obj: JsonObject) -> None:
        """Fill in what the user may leave out."""

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Drop or set what a creator has no say in (status, generation)."""

    def validate_create(self, obj: JsonObject, call: Call, found: Sequence[FieldError]) -> list[FieldError]:
        """What else is wrong with a new object; `found` is what the general rules for metadata found."""
        return []

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """What is allowed but unwise in a new object."""
        return []

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Restore what an updater has no say in, and count the generation."""

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """What else is wrong with a changed object; `found` is what the general rules for metadata found."""
        return []

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """What is allowed but unwise in a changed object."""
        return []

    def warn_delete(self, options: DeleteOptions) -> list[str]:
        """What is allowed but unwise in a deletion, whatever it deletes."""
        return []

    def complete_bookmark(self, obj: JsonObject) -> None:
        """Add what an object of this kind shows even if it holds nothing but a resourceVersion."""

    def canonicalize(self, obj: JsonObject) -> None:
        """Bring a valid object into the form in which it is stored."""

    def grace_period(self, obj: JsonObject, options: DeleteOptions) -> int | None:
        """Seconds an object stays after its deletion is asked for; None if it goes at once."""
        return None

    def mark_deleted(self, obj: JsonObject, options: DeleteOptions, now: str) -> bool:
        """Mark an object as deleting in a way of the kind's own, in place; False if the general way is right."""
        return False

    def delete_during_update(self, new: JsonObject, old: JsonObject) -> bool:
        """Whether a deleting object whose last finalizer went may be removed now."""
        return True

    async def begin_create(self, obj: JsonObject, call: Call) -> Undo | None:
        """Reserve what the object needs outside itself (addresses). The result is told whether the write succeeded."""
        return None

    async def begin_update(self, new: JsonObject, old: JsonObject, call: Call) -> Undo | None:
        """The same for a change."""
        return None

    def after_delete(self, obj: JsonObject) -> None:
        """Give back what `begin_create` reserved."""

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """The values of `selectable_fields` in an object."""
        return {}

    def field_label(self, label: str) -> str:
        """The name under which a field selector's label is matched. Raises ValueError for one that is not supported."""
        if label in NAME_FIELDS or label in self.selectable_fields:
            return label
        if not self.selectable_fields:
            known = '"metadata.name", "metadata.namespace"'
            raise ValueError(f'"{label}" is not a known field selector: only {known}')
        raise ValueError(f"field label not supported: {label}")
