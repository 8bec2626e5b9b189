"""Who is a member, who leads, and which changes are allowed: etcd's rules, without its log.

What always holds: there is a leader exactly if more than half of the voting members are up; learners do not vote; one
learner at a time; and a change that would cost a healthy cluster its majority is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from nagaya.simulators.tenant.etcd import refusals
from nagaya.wire.etcd.maintenance import AlarmMember, AlarmType

_TOKEN: Final = "etcd-cluster"  # noqa: S105 - what etcd calls the name of a cluster unless told otherwise


@dataclass(slots=True)
class Member:
    """One member. It has no name until it has started for the first time."""

    id: int
    peer_urls: tuple[str, ...]
    name: str = ""
    client_urls: tuple[str, ...] = ()
    learner: bool = False
    caught_up: bool = False  # of learners: whether they may be promoted

    @property
    def started(self) -> bool:
        """Whether it has ever run."""
        return bool(self.name)


class Membership:
    """The members of one cluster. `up` says which of them run and are reached by the others, at this moment."""

    def __init__(self, name: str, peer_url: str, client_url: str, up: Callable[[Member], bool]) -> None:
        """A cluster of one, which has started."""
        self._up = up
        first = Member(_identifier([peer_url], _TOKEN), (peer_url,), name, (client_url,))
        self.id = int.from_bytes(hashlib.sha1(first.id.to_bytes(8, "big"), usedforsecurity=False).digest()[:8], "big")
        self._members = {first.id: first}
        self._alarms: set[AlarmMember] = set()
        self._leader = 0
        self._elected = 0  # the last one that led
        self.term = 1
        self.index = 4  # of the log that is not there; etcd has written about as much when it is up

    @property
    def members(self) -> list[Member]:
        """All members by their IDs, as etcd lists them."""
        return [self._members[each] for each in sorted(self._members)]

    def get(self, id: int) -> Member | None:
        """A member."""
        return self._members.get(id)

    def named(self, name: str) -> Member | None:
        """The member of a name."""
        return next((each for each in self._members.values() if each.name == name), None)

    def is_up(self, member: Member) -> bool:
        """Whether a member runs and is reached by the others, at this moment."""
        return self._up(member)

    @property
    def leader(self) -> int:
        """Who leads at this moment; 0 if nobody can."""
        active = [each.id for each in self._voters() if self._up(each)]
        if len(active) <= len(self._voters()) // 2:
            self._leader = 0
        elif self._leader not in active:
            self._leader = active[0]
        if self._leader and self._leader != self._elected:
            self._elected = self._leader
            self.term += 1
        return self._leader

    def add(self, peer_urls: Sequence[str], now: float, *, learner: bool) -> Member:
        """Let a member join, of a time in seconds. Raises Refused."""
        if not peer_urls or not all(_is_url(each) for each in peer_urls):
            raise refusals.bad_urls()
        voters = self._voters()
        if not learner:
            started = sum(each.started for each in voters)
            alone = started == 1 and len(voters) == 1
            if not alone and started < _majority(len(voters) + 1):
                raise refusals.not_enough_started()
        if len(voters) > 1 and self._active() < _majority(len(voters) + 1):
            raise refusals.unhealthy()
        self._agree()
        if any(set(each.peer_urls) & set(peer_urls) for each in self._members.values()):
            raise refusals.peer_url_exists()
        if learner and any(each.learner for each in self._members.values()):
            raise refusals.too_many_learners()
        made = Member(_identifier(peer_urls, str(int(now))), tuple(peer_urls), learner=learner)
        self._members[made.id] = made
        self.index += 1
        return made

    def start(self, id: int, name: str, client_urls: Iterable[str]) -> None:
        """A member runs for the first time, and is as far as the others at once."""
        member = self._members[id]
        member.name, member.client_urls, member.caught_up = name, tuple(client_urls), True
        self.index += 1

    def restore(self, name: str, peer_url: str, client_url: str) -> None:
        """A member is there again that had been one before all this was made anew."""
        made = Member(_identifier([peer_url], _TOKEN), (peer_url,), name, (client_url,), caught_up=True)
        self._members[made.id] = made
        self.index += 1

    def remove(self, id: int, asked: int) -> None:
        """Take a member out, which `asked` was asked for. Raises Refused."""
        member = self._members.get(id)
        if member is not None and not member.learner:
            rest = [each for each in self._voters() if each.id != id]
            if sum(each.started for each in rest) < _majority(len(rest)):
                raise refusals.not_enough_started()
            # One that is down is no part of the majority that there is.
            if (id == asked or self._up(member)) and self._active() - 1 < _majority(len(rest)):
                raise refusals.unhealthy()
        self._agree()
        if member is None:
            raise refusals.member_not_found()
        del self._members[id]
        self._alarms = {each for each in self._alarms if each.member_id != id}
        self.index += 1

    def promote(self, id: int) -> None:
        """Give a learner its vote. Raises Refused."""
        self._agree()
        member = self._members.get(id)
        if member is None:
            raise refusals.member_not_found()
        if not member.learner:
            raise refusals.not_a_learner()
        if not (member.started and member.caught_up and self._up(member)):
            raise refusals.learner_not_ready()
        voters = self._voters()
        if sum(each.started for each in voters) + 1 < _majority(len(voters) + 1):
            raise refusals.not_enough_started()
        member.learner = False
        self.index += 1

    def move(self, id: int, peer_urls: Sequence[str]) -> None:
        """A member is reached elsewhere from now on. Raises Refused."""
        self._agree()
        if id not in self._members:
            raise refusals.member_not_found()
        if any(set(each.peer_urls) & set(peer_urls) for each in self._members.values() if each.id != id):
            raise refusals.peer_url_exists()
        self._members[id].peer_urls = tuple(peer_urls)
        self.index += 1

    def hand_over(self, asked: int, target: int) -> None:
        """The leader lets another one lead. Raises Refused."""
        if self.leader != asked:
            raise refusals.not_leader()
        member = self._members.get(target)
        if member is None or member.learner:
            raise refusals.bad_transferee()
        if not self._up(member):
            raise refusals.NoMajority()
        self._leader = target

    @property
    def alarms(self) -> list[AlarmMember]:
        """What is wrong with members."""
        return sorted(self._alarms, key=lambda each: (each.alarm, each.member_id))

    def raise_alarm(self, id: int, alarm: AlarmType) -> bool:
        """Something is wrong with a member. Returns whether that is new."""
        new = AlarmMember(member_id=id, alarm=alarm) not in self._alarms
        self._alarms.add(AlarmMember(member_id=id, alarm=alarm))
        return new

    def disarm(self, id: int, alarm: AlarmType) -> bool:
        """It is no longer wrong. Returns whether it was."""
        known = AlarmMember(member_id=id, alarm=alarm) in self._alarms
        self._alarms.discard(AlarmMember(member_id=id, alarm=alarm))
        return known

    def _voters(self) -> list[Member]:
        return [each for each in self._members.values() if not each.learner]

    def _active(self) -> int:
        return sum(self._up(each) for each in self._voters())

    def _agree(self) -> None:
        if not self.leader:
            raise refusals.NoMajority()


def _majority(count: int) -> int:
    return count // 2 + 1


def _identifier(peer_urls: Sequence[str], salt: str) -> int:
    """A member's ID, as etcd makes it."""
    digest = hashlib.sha1(("".join(sorted(peer_urls)) + salt).encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "big")


def _is_url(text: str) -> bool:
    try:
        url = urlsplit(text)
        return url.scheme in ("http", "https", "unix", "unixs") and bool(url.hostname) and url.port is not None
    except ValueError:
        return False
