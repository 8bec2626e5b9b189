"""Small agreements between the write path and the store."""

from __future__ import annotations

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
    return status.internal(str(failure))


async def rewrite(backend: Backend, resource: Resource, record: Record, form: JsonObject) -> Record | None:
    """Replace a record by an object in the form that is stored. None if the record is no longer the current one."""
    try:
        return await backend.store.put(
            resource.table,
            record.key,
            lambda revision: resource.dump(form, revision),
            expected=record.revision,
            labels=labels_of(form),
        )
    except RevisionConflict:
        return None
    except StorageFailure as failure:
        raise store_failure(failure) from failure
