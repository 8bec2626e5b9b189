"""One member's answers: etcd's Cluster and Maintenance services, and as much of KV as a health check needs.

Whatever must be agreed on waits for a majority as etcd does, and then says that nobody answered. What a member knows
by itself (its status, the members as it last heard of them) it says without the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import msgspec

from nagaya.simulators.tenant.etcd import refusals
from nagaya.simulators.tenant.etcd.keys import Keys
from nagaya.simulators.tenant.etcd.membership import Member, Membership
from nagaya.simulators.tenant.etcd.refusals import NoMajority
from nagaya.wire import protobuf
from nagaya.wire.etcd.cluster import Member as WireMember
from nagaya.wire.etcd.cluster import (
    MemberAddRequest,
    MemberAddResponse,
    MemberListRequest,
    MemberRequest,
    MembersResponse,
    MemberUpdateRequest,
)
from nagaya.wire.etcd.header import Nothing, OnlyHeader, ResponseHeader
from nagaya.wire.etcd.kv import (
    DeleteRangeRequest,
    DeleteRangeResponse,
    PutRequest,
    PutResponse,
    RangeRequest,
    RangeResponse,
)
from nagaya.wire.etcd.maintenance import (
    AlarmAction,
    AlarmMember,
    AlarmRequest,
    AlarmResponse,
    AlarmType,
    MoveLeaderRequest,
    StatusResponse,
)
from nagaya.wire.malformed import Malformed
from nagaya.wire.protobuf import Message
from nagaya.world import Clock

REQUEST_TIMEOUT: Final = 7.0  # seconds: five, and two elections
QUOTA: Final = 2 * 1024**3  # bytes
_SMALLEST: Final = 20 * 1024  # bytes of a database without keys
_PREFIX: Final = "etcdserverpb."
_FOREVER: Final = 86_400.0
_CHANGES: Final = (MemberAddRequest, MemberRequest, MemberUpdateRequest, MoveLeaderRequest)
_WRITES: Final = (AlarmRequest, PutRequest, DeleteRangeRequest)

M = TypeVar("M", bound=Message)


class MemberService:
    """What one member of a cluster answers."""

    def __init__(self, cluster: Membership, keys: Keys, member: Member, version: str, clock: Clock) -> None:
        """`version` is etcd's, for example 3.6.8."""
        self._cluster = cluster
        self._keys = keys
        self._member = member
        self._version = version
        self._clock = clock
        calls: tuple[tuple[str, type[Message], Callable[[Any], Message]], ...] = (
            ("Cluster/MemberList", MemberListRequest, self._list),
            ("Cluster/MemberAdd", MemberAddRequest, self._add),
            ("Cluster/MemberRemove", MemberRequest, self._remove),
            ("Cluster/MemberUpdate", MemberUpdateRequest, self._update),
            ("Cluster/MemberPromote", MemberRequest, self._promote),
            ("Maintenance/Status", Nothing, self._status),
            ("Maintenance/Alarm", AlarmRequest, self._alarm),
            ("Maintenance/MoveLeader", MoveLeaderRequest, self._move_leader),
            ("Maintenance/Defragment", Nothing, self._defragment),
            ("KV/Range", RangeRequest, self._range),
            ("KV/Put", PutRequest, self._put),
            ("KV/DeleteRange", DeleteRangeRequest, self._delete),
        )
        self._calls: Mapping[str, tuple[type[Message], Callable[[Any], Message]]] = {
            f"{_PREFIX}{name}": (kind, answer) for name, kind, answer in calls
        }

    async def __call__(self, path: str, message: bytes) -> bytes:
        """Answer a call of `/service/method`. Raises Refused."""
        kind, answer = self._find(path.removeprefix("/"))
        try:
            request = protobuf.decode(kind, message)
        except Malformed as error:
            raise refusals.malformed(str(error)) from error
        if self._member.learner and not _for_learners(request):
            raise refusals.not_for_learners()
        try:
            return protobuf.encode(answer(request))
        except NoMajority:
            # Changes of members wait as long as the client does; others no longer than a request may take.
            await asyncio.sleep(_FOREVER if isinstance(request, _CHANGES) else REQUEST_TIMEOUT)
            if isinstance(request, _WRITES):
                raise refusals.late() from None
            raise

    def _find(self, name: str) -> tuple[type[Message], Callable[[Any], Message]]:
        if name in self._calls:
            return self._calls[name]
        service, _, method = name.rpartition("/")
        if any(each.startswith(f"{service}/") for each in self._calls):
            raise refusals.no_such_method(service, method)
        raise refusals.no_such_service(service)

    def _header(self, *, revision: bool = False) -> ResponseHeader:
        cluster = self._cluster
        return ResponseHeader(cluster.id, self._member.id, self._keys.revision if revision else 0, cluster.term)

    def _agreed(self) -> None:
        if not self._cluster.leader:
            raise NoMajority

    def _list(self, asked: MemberListRequest) -> MembersResponse:
        if asked.linearizable:
            self._agreed()
        return self._members()

    def _members(self) -> MembersResponse:
        return MembersResponse(self._header(), tuple(_wire(each) for each in self._cluster.members))

    def _add(self, asked: MemberAddRequest) -> MemberAddResponse:
        now = self._clock.now().timestamp()
        made = self._cluster.add(asked.peer_urls, now, learner=asked.is_learner)
        return MemberAddResponse(self._header(), _wire(made), self._members().members)

    def _remove(self, asked: MemberRequest) -> MembersResponse:
        self._cluster.remove(asked.id, self._member.id)
        return self._members()

    def _update(self, asked: MemberUpdateRequest) -> MembersResponse:
        self._cluster.move(asked.id, asked.peer_urls)
        return self._members()

    def _promote(self, asked: MemberRequest) -> MembersResponse:
        self._cluster.promote(asked.id)
        return self._members()

    def _status(self, _: Nothing) -> StatusResponse:
        cluster, size = self._cluster, _SMALLEST + self._keys.size
        leader = cluster.leader
        errors = [] if leader else ["etcdserver: no leader"]
        errors += [f"memberID:{each.member_id} alarm:{each.alarm.name}" for each in cluster.alarms]
        return StatusResponse(
            header=self._header(revision=True),
            version=self._version,
            db_size=size,
            leader=leader,
            raft_index=cluster.index,
            raft_term=cluster.term,
            raft_applied_index=cluster.index,
            errors=tuple(errors),
            db_size_in_use=size,
            is_learner=self._member.learner,
            storage_version=f"{self._version.rpartition('.')[0]}.0",
            db_size_quota=QUOTA,
        )

    def _alarm(self, asked: AlarmRequest) -> AlarmResponse:
        self._agreed()
        cluster, found = self._cluster, AlarmMember(member_id=asked.member_id, alarm=asked.alarm)
        alarms: tuple[AlarmMember, ...] = ()
        match asked.action:
            case AlarmAction.GET:
                alarms = tuple(each for each in cluster.alarms if asked.alarm in (AlarmType.NONE, each.alarm))
            case AlarmAction.ACTIVATE if asked.alarm is not AlarmType.NONE:
                alarms = (found,) if cluster.raise_alarm(asked.member_id, asked.alarm) else ()
            case AlarmAction.DEACTIVATE:
                alarms = (found,) if cluster.disarm(asked.member_id, asked.alarm) else ()
        return AlarmResponse(self._header(revision=True), alarms)

    def _move_leader(self, asked: MoveLeaderRequest) -> OnlyHeader:
        self._cluster.hand_over(self._member.id, asked.target_id)
        return OnlyHeader()

    def _defragment(self, _: Nothing) -> OnlyHeader:
        return OnlyHeader()

    def _range(self, asked: RangeRequest) -> RangeResponse:
        _check_key(asked.key)
        if not asked.serializable:
            self._agreed()
        self._check_data(writes=False)
        return self._answered(self._keys.range(asked))

    def _put(self, asked: PutRequest) -> PutResponse:
        _check_key(asked.key)
        self._agreed()
        self._check_data(writes=True)
        return self._answered(self._keys.put(asked))

    def _delete(self, asked: DeleteRangeRequest) -> DeleteRangeResponse:
        _check_key(asked.key)
        self._agreed()
        self._check_data(writes=False)  # deleting is the way out of a full database
        return self._answered(self._keys.delete(asked))

    def _answered(self, answer: M) -> M:
        return msgspec.structs.replace(answer, header=self._header(revision=True))

    def _check_data(self, *, writes: bool) -> None:
        raised = {each.alarm for each in self._cluster.alarms}
        if AlarmType.CORRUPT in raised:
            raise refusals.corrupt()
        if writes and AlarmType.NOSPACE in raised:
            raise refusals.no_space()


def _wire(member: Member) -> WireMember:
    return WireMember(member.id, member.name, member.peer_urls, member.client_urls, member.learner)


def _for_learners(request: Message) -> bool:
    """A learner says how it is, and what it knows without asking the others. Requests without content are for that."""
    return isinstance(request, Nothing) or (isinstance(request, RangeRequest) and request.serializable)


def _check_key(key: bytes) -> None:
    if not key:
        raise refusals.empty_key()
