"""Conditions of data stores, with all reasons. Both are part of the API."""

from __future__ import annotations

from enum import StrEnum


class DataStoreCondition(StrEnum):
    """What is told of a data store."""

    READY = "Ready"
    DELETING = "Deleting"
    PAUSED = "Paused"


class DataStoreReason(StrEnum):
    """Why a data store is in the state that it is in."""

    # of Ready
    READY = "Ready"
    STARTING = "Starting"
    SECRET_MISSING = "SecretMissing"  # noqa: S105 - a reason, not a secret
    SECRET_UNUSABLE = "SecretUnusable"  # noqa: S105 - a reason, not a secret
    UNREACHABLE = "Unreachable"
    NOT_AUTHORIZED = "NotAuthorized"
    NOT_HEALTHY = "NotHealthy"
    VERSION_TOO_OLD = "VersionTooOld"
    BINARIES_MISSING = "BinariesMissing"
    DATA_ELSEWHERE = "DataElsewhere"
    NOT_OWNER = "NotOwner"
    FOLDER_IN_USE = "FolderInUse"
    INTERNAL_ERROR = "InternalError"

    # of Deleting
    NOT_DELETING = "NotDeleting"
    IN_USE = "InUse"
    STOPPING = "Stopping"

    # of Paused
    PAUSED = "Paused"
    NOT_PAUSED = "NotPaused"
