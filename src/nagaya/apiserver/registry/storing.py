"""Small agreements between the write path and the store."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.storage import Record, RevisionConflict, StorageFailure


def labels_of(obj: JsonObject) -> dict[str, str] | None:
    """The labels a record is selected by."""
    return obj["metadata"].get("labels") or None


def store_failure(failure: StorageFailure) -> ApiError:
    """What a client is told when its write could not be made durable: nothing was changed, and why."""
    return status.service_unavailable(f"nothing was changed: {failure}")


_MARK: Final = 1024  # bytes


def bounded(value: bytes, room: int = status.OBJECT_LIMIT) -> bytes:
    """The bytes of an object that may be stored. Raises 413 if they are too many."""
    if len(value) > max(status.OBJECT_LIMIT, room):
        raise status.object_too_large(len(value))
    return value


async def rewrite(backend: Backend, resource: Resource, record: Record, form: JsonObject) -> Record | None:
    """Replace a record by an object in the form that is stored. None if the record is no longer the current one."""
    # What is too large already may still shrink, and anything may be marked for deletion.
    room = max(len(record.value), status.OBJECT_LIMIT + _MARK if form["metadata"].get("deletionTimestamp") else 0)
    try:
        return await backend.store.put(
            resource.table,
            record.key,
            lambda revision: bounded(resource.dump(form, revision), room),
            expected=record.revision,
            labels=labels_of(form),
        )
    except RevisionConflict:
        return None
    except StorageFailure as failure:
        raise store_failure(failure) from failure
