"""What every answer begins with."""

from __future__ import annotations

from typing import Annotated

from nagaya.wire.protobuf import Int64, Message, UInt64


class ResponseHeader(Message, frozen=True):
    """Who answered, and in which state."""

    cluster_id: Annotated[UInt64, 1] = 0
    member_id: Annotated[UInt64, 2] = 0
    revision: Annotated[Int64, 3] = 0
    raft_term: Annotated[UInt64, 4] = 0


NO_HEADER = ResponseHeader()


class OnlyHeader(Message, frozen=True):
    """An answer that says nothing else."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER


class Nothing(Message, frozen=True):
    """A request that has no parameters."""
