"""Changes of keys as they happen."""

from __future__ import annotations

from typing import Annotated

from nagaya.wire.etcd.header import NO_HEADER, ResponseHeader
from nagaya.wire.etcd.kv import KeyValue
from nagaya.wire.protobuf import Enumeration, Int64, Message


class EventType(Enumeration):
    """What happened."""

    PUT = 0
    DELETE = 1


class Event(Message, frozen=True):
    """A change of a key."""

    type: Annotated[EventType, 1] = EventType.PUT
    kv: Annotated[KeyValue, 2] = KeyValue()
    prev_kv: Annotated[KeyValue | None, 3] = None


class FilterType(Enumeration):
    """What not to tell."""

    NOPUT = 0
    NODELETE = 1


class WatchCreateRequest(Message, frozen=True):
    """Tell of changes from a revision on; 0: from now on."""

    key: Annotated[bytes, 1] = b""
    range_end: Annotated[bytes, 2] = b""
    start_revision: Annotated[Int64, 3] = 0
    progress_notify: Annotated[bool, 4] = False
    filters: Annotated[tuple[FilterType, ...], 5] = ()
    prev_kv: Annotated[bool, 6] = False
    watch_id: Annotated[Int64, 7] = 0
    fragment: Annotated[bool, 8] = False


class WatchCancelRequest(Message, frozen=True):
    """Tell no more."""

    watch_id: Annotated[Int64, 1] = 0


class WatchProgressRequest(Message, frozen=True):
    """How far has everything been told."""


class WatchRequest(Message, frozen=True):
    """Exactly one of them."""

    create: Annotated[WatchCreateRequest | None, 1] = None
    cancel: Annotated[WatchCancelRequest | None, 2] = None
    progress: Annotated[WatchProgressRequest | None, 3] = None


class WatchResponse(Message, frozen=True):
    """What happened since the last; one without events tells how far everything has been told."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    watch_id: Annotated[Int64, 2] = 0
    created: Annotated[bool, 3] = False
    canceled: Annotated[bool, 4] = False
    compact_revision: Annotated[Int64, 5] = 0
    cancel_reason: Annotated[str, 6] = ""
    fragment: Annotated[bool, 7] = False
    events: Annotated[tuple[Event, ...], 11] = ()
