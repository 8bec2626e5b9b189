"""The health of the member that is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from nagaya.kube.etcd.caller import Caller, in_time, read
from nagaya.kube.etcd.errors import EtcdError
from nagaya.wire import protobuf
from nagaya.wire.etcd.header import Nothing, OnlyHeader
from nagaya.wire.etcd.maintenance import (
    AlarmAction,
    AlarmMember,
    AlarmRequest,
    AlarmResponse,
    AlarmType,
    MoveLeaderRequest,
    SnapshotResponse,
    StatusResponse,
)
from nagaya.wire.grpc import Code

DEFRAGMENT_TIMEOUT: Final = 120.0  # seconds; it rewrites the whole database and answers nothing meanwhile
_SNAPSHOT: Final = "Maintenance/Snapshot"


class Maintenance:
    """Calls of etcd's Maintenance service. Raise EtcdError."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def status(self, timeout: float | None = None) -> StatusResponse:
        """How the member is, and whom it takes for the leader. Answered without a majority too."""
        return await self._caller.ask("Maintenance/Status", Nothing(), StatusResponse, timeout)

    async def move_leader(self, member: int) -> None:
        """Hand over the leadership. Raises NotLeader if another member has it."""
        await self._caller.ask("Maintenance/MoveLeader", MoveLeaderRequest(target_id=member), OnlyHeader)

    async def alarms(self) -> tuple[AlarmMember, ...]:
        """The alarms of all members."""
        return await self._alarm(AlarmRequest(action=AlarmAction.GET))

    async def disarm(self, member: int = 0, alarm: AlarmType = AlarmType.NONE) -> tuple[AlarmMember, ...]:
        """Switch an alarm off, when its reason is gone. Returns those that were. Without a member or a kind: all."""
        if member or alarm is not AlarmType.NONE:
            return await self._alarm(AlarmRequest(action=AlarmAction.DEACTIVATE, member_id=member, alarm=alarm))
        found: tuple[AlarmMember, ...] = ()
        for each in await self.alarms():
            found += await self.disarm(each.member_id, each.alarm)
        return found

    async def _alarm(self, request: AlarmRequest) -> tuple[AlarmMember, ...]:
        return (await self._caller.ask("Maintenance/Alarm", request, AlarmResponse)).alarms

    async def defragment(self, timeout: float = DEFRAGMENT_TIMEOUT) -> None:
        """Give back the space that compaction freed. The member answers nothing else until it is done."""
        await self._caller.ask("Maintenance/Defragment", Nothing(), OnlyHeader, timeout)

    async def snapshot(self) -> AsyncIterator[bytes]:
        """The database of the member as a file that `etcdutl snapshot restore` takes, in pieces. Each may take as long
        as any other call. Raises EtcdError, also when less came than was promised: then it is of no use."""
        async with await self._caller.channel.call(_SNAPSHOT) as call:
            await call.send(protobuf.encode(Nothing()), end=True)
            remaining: int | None = None
            while True:
                async with in_time(_SNAPSHOT, self._caller.timeout):
                    data = await call.receive()
                if data is None:
                    break
                piece = read(_SNAPSHOT, SnapshotResponse, data)
                remaining = piece.remaining_bytes
                yield piece.blob
            if remaining != 0:
                raise EtcdError(_SNAPSHOT, Code.DATA_LOSS, f"the snapshot ended {remaining} bytes too early")
