"""The members of a cluster."""

from __future__ import annotations

from collections.abc import Iterable

from nagaya.kube.etcd.caller import Caller
from nagaya.wire.etcd.cluster import (
    Member,
    MemberAddRequest,
    MemberAddResponse,
    MemberListRequest,
    MemberRequest,
    MembersResponse,
    MemberUpdateRequest,
)


class Cluster:
    """Calls of etcd's Cluster service. Raise EtcdError."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def members(self, *, linearizable: bool = True) -> tuple[Member, ...]:
        """All members: as the majority knows them, or as the one that is asked does, which answers without a leader."""
        return (await self.member_list(linearizable=linearizable)).members

    async def member_list(self, *, linearizable: bool = True) -> MembersResponse:
        """All members, and the cluster's ID in the header."""
        request = MemberListRequest(linearizable=linearizable)
        return await self._caller.ask("Cluster/MemberList", request, MembersResponse)

    async def add(self, peer_urls: Iterable[str], *, learner: bool = False) -> Member:
        """Let a member join. A learner has no vote until it is promoted, and so cannot cost the cluster its quorum."""
        request = MemberAddRequest(peer_urls=tuple(peer_urls), is_learner=learner)
        return (await self._caller.ask("Cluster/MemberAdd", request, MemberAddResponse)).member

    async def promote(self, member: int) -> tuple[Member, ...]:
        """Give a learner its vote. Raises LearnerNotReady until it has caught up. Returns all members."""
        request = MemberRequest(id=member)
        return (await self._caller.ask("Cluster/MemberPromote", request, MembersResponse)).members

    async def remove(self, member: int) -> tuple[Member, ...]:
        """Remove a member; it stops by itself. Returns those that are left."""
        request = MemberRequest(id=member)
        return (await self._caller.ask("Cluster/MemberRemove", request, MembersResponse)).members

    async def update(self, member: int, peer_urls: Iterable[str]) -> tuple[Member, ...]:
        """A member is reached elsewhere from now on. Returns all members."""
        request = MemberUpdateRequest(id=member, peer_urls=tuple(peer_urls))
        return (await self._caller.ask("Cluster/MemberUpdate", request, MembersResponse)).members
