"""Leases: keys that go away when nobody keeps them alive. Times are seconds; -1 is a lease that has ended."""

from __future__ import annotations

from typing import Annotated

from nagaya.wire.etcd.header import NO_HEADER, ResponseHeader
from nagaya.wire.protobuf import Int64, Message


class LeaseGrantRequest(Message, frozen=True):
    """A new lease; with ID 0 etcd chooses one."""

    ttl: Annotated[Int64, 1] = 0
    id: Annotated[Int64, 2] = 0


class LeaseGrantResponse(Message, frozen=True):
    """The lease as it was granted."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    id: Annotated[Int64, 2] = 0
    ttl: Annotated[Int64, 3] = 0
    error: Annotated[str, 4] = ""


class LeaseRequest(Message, frozen=True):
    """Revoke a lease, or keep it alive."""

    id: Annotated[Int64, 1] = 0


class LeaseKeepAliveResponse(Message, frozen=True):
    """How long a lease lives now; 0: it is gone."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    id: Annotated[Int64, 2] = 0
    ttl: Annotated[Int64, 3] = 0


class LeaseTimeToLiveRequest(Message, frozen=True):
    """How long does a lease live, and which keys hang on it."""

    id: Annotated[Int64, 1] = 0
    keys: Annotated[bool, 2] = False


class LeaseTimeToLiveResponse(Message, frozen=True):
    """A lease."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    id: Annotated[Int64, 2] = 0
    ttl: Annotated[Int64, 3] = 0
    granted_ttl: Annotated[Int64, 4] = 0
    keys: Annotated[tuple[bytes, ...], 5] = ()


class LeaseStatus(Message, frozen=True):
    """A lease in a list."""

    id: Annotated[Int64, 1] = 0


class LeaseLeasesResponse(Message, frozen=True):
    """All leases."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    leases: Annotated[tuple[LeaseStatus, ...], 2] = ()
