"""Small agreements between the write path and the store."""

from __future__ import annotations

from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.status import ApiError, JsonObject
from nagaya.apiserver.storage import StorageFailure


def labels_of(obj: JsonObject) -> dict[str, str] | None:
    """The labels a record is selected by."""
    return obj["metadata"].get("labels") or None


def store_failure(failure: StorageFailure) -> ApiError:
    """What a client is told when its write could not be made durable: nothing was changed, and why."""
    return status.internal(str(failure))
