"""Members of a simulated etcd, whatever is done to them in whatever order."""

from __future__ import annotations

from contextlib import suppress

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from nagaya.simulators.tenant.etcd.membership import Member, Membership
from nagaya.simulators.tenant.etcd.refusals import Refused

PICKS = st.integers(min_value=0, max_value=20)


class AnyOrder(RuleBasedStateMachine):
    """Clients that ask for anything, and machines that come and go."""

    def __init__(self) -> None:
        super().__init__()
        self.down: set[str] = set()
        self.made = 1
        self.cluster = Membership("m0", "https://10.0.0.1:2380", "https://10.0.0.1:2379", self.is_up)

    def is_up(self, member: Member) -> bool:
        return member.started and member.name not in self.down

    def pick(self, number: int) -> Member:
        members = self.cluster.members
        return members[number % len(members)]

    def voters(self) -> list[Member]:
        return [each for each in self.cluster.members if not each.learner]

    def is_healthy(self) -> bool:
        return sum(map(self.is_up, self.voters())) > len(self.voters()) // 2

    @rule(learner=st.booleans())
    @precondition(lambda self: len(self.cluster.members) < 7)
    def add(self, learner: bool) -> None:
        self.made += 1
        with suppress(Refused):
            self.cluster.add([f"https://10.0.0.{self.made}:2380"], float(self.made), learner=learner)

    @rule(number=PICKS)
    def start(self, number: int) -> None:
        member = self.pick(number)
        if not member.started:
            self.cluster.start(member.id, f"m{member.id}", ["https://10.0.0.9:2379"])

    @rule(number=PICKS)
    def promote(self, number: int) -> None:
        member = self.pick(number)
        with suppress(Refused):
            self.cluster.promote(member.id)
            assert self.is_up(member)

    @rule(number=PICKS, asked=PICKS)
    def remove(self, number: int, asked: int) -> None:
        healthy = self.is_healthy()
        with suppress(Refused):
            self.cluster.remove(self.pick(number).id, self.pick(asked).id)
            assert healthy, "a cluster without a majority agrees on nothing"
            assert self.is_healthy(), "a removal must not cost a healthy cluster its majority"

    @rule(number=PICKS, other=PICKS)
    def hand_over(self, number: int, other: int) -> None:
        asked, heir = self.pick(number), self.pick(other)
        with suppress(Refused):
            self.cluster.hand_over(asked.id, heir.id)
            assert self.cluster.leader == heir.id

    @rule(number=PICKS)
    def stop(self, number: int) -> None:
        self.down.add(self.pick(number).name)

    @rule(number=PICKS)
    def resume(self, number: int) -> None:
        self.down.discard(self.pick(number).name)

    @invariant()
    def there_is_a_leader_exactly_if_there_is_a_majority(self) -> None:
        leader = self.cluster.get(self.cluster.leader)
        assert (leader is not None) == self.is_healthy()
        assert leader is None or (self.is_up(leader) and not leader.learner)

    @invariant()
    def there_are_members_and_at_most_one_learner(self) -> None:
        assert self.voters()
        assert sum(each.learner for each in self.cluster.members) <= 1

    @invariant()
    def no_address_is_given_twice(self) -> None:
        urls = [url for each in self.cluster.members for url in each.peer_urls]
        assert len(urls) == len(set(urls))


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=25, stateful_step_count=20)
