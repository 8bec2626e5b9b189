"""The health of members: status, alarms, snapshots."""

from __future__ import annotations

from typing import Annotated

from nagaya.wire.etcd.header import NO_HEADER, ResponseHeader
from nagaya.wire.protobuf import Enumeration, Int64, Message, UInt64


class AlarmType(Enumeration):
    """What is wrong with a member. NONE stands for all of them in a question."""

    NONE = 0
    NOSPACE = 1
    CORRUPT = 2


class AlarmAction(Enumeration):
    """What to do with an alarm."""

    GET = 0
    ACTIVATE = 1
    DEACTIVATE = 2


class AlarmRequest(Message, frozen=True):
    """Ask for alarms, or switch one off. Member 0 stands for all of them."""

    action: Annotated[AlarmAction, 1] = AlarmAction.GET
    member_id: Annotated[UInt64, 2] = 0
    alarm: Annotated[AlarmType, 3] = AlarmType.NONE


class AlarmMember(Message, frozen=True):
    """An alarm of a member."""

    member_id: Annotated[UInt64, 1] = 0
    alarm: Annotated[AlarmType, 2] = AlarmType.NONE


class AlarmResponse(Message, frozen=True):
    """The alarms that were asked for, or switched."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    alarms: Annotated[tuple[AlarmMember, ...], 2] = ()


class StatusResponse(Message, frozen=True):
    """The member that was asked. `errors` are sentences for people; alarms are for programs."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    version: Annotated[str, 2] = ""
    db_size: Annotated[Int64, 3] = 0
    leader: Annotated[UInt64, 4] = 0
    raft_index: Annotated[UInt64, 5] = 0
    raft_term: Annotated[UInt64, 6] = 0
    raft_applied_index: Annotated[UInt64, 7] = 0
    errors: Annotated[tuple[str, ...], 8] = ()
    db_size_in_use: Annotated[Int64, 9] = 0
    is_learner: Annotated[bool, 10] = False
    storage_version: Annotated[str, 11] = ""
    db_size_quota: Annotated[Int64, 12] = 0


class MoveLeaderRequest(Message, frozen=True):
    """Who is to lead."""

    target_id: Annotated[UInt64, 1] = 0


class SnapshotResponse(Message, frozen=True):
    """A piece of a snapshot. The last 32 bytes of all of it are the SHA-256 of what is before them."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    remaining_bytes: Annotated[UInt64, 2] = 0
    blob: Annotated[bytes, 3] = b""
    version: Annotated[str, 4] = ""
