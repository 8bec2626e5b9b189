"""Members of a cluster."""

from __future__ import annotations

from typing import Annotated

from nagaya.wire.etcd.header import NO_HEADER, ResponseHeader
from nagaya.wire.protobuf import Message, UInt64


class Member(Message, frozen=True):
    """A member. One that was added and has not started yet has no name and no client URLs."""

    id: Annotated[UInt64, 1] = 0
    name: Annotated[str, 2] = ""
    peer_urls: Annotated[tuple[str, ...], 3] = ()
    client_urls: Annotated[tuple[str, ...], 4] = ()
    is_learner: Annotated[bool, 5] = False


class MemberAddRequest(Message, frozen=True):
    """A member is going to join."""

    peer_urls: Annotated[tuple[str, ...], 1] = ()
    is_learner: Annotated[bool, 2] = False


class MemberAddResponse(Message, frozen=True):
    """The new member, and all of them."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    member: Annotated[Member, 2] = Member()
    members: Annotated[tuple[Member, ...], 3] = ()


class MemberRequest(Message, frozen=True):
    """Remove or promote a member."""

    id: Annotated[UInt64, 1] = 0


class MemberUpdateRequest(Message, frozen=True):
    """A member is reached elsewhere from now on."""

    id: Annotated[UInt64, 1] = 0
    peer_urls: Annotated[tuple[str, ...], 2] = ()


class MemberListRequest(Message, frozen=True):
    """Which members are there. Linearizable: as the majority knows it, otherwise as the one that is asked does."""

    linearizable: Annotated[bool, 1] = False


class MembersResponse(Message, frozen=True):
    """All members after a removal, an update or a promotion, or when asked for."""

    header: Annotated[ResponseHeader, 1] = NO_HEADER
    members: Annotated[tuple[Member, ...], 2] = ()
