"""What etcd answers instead of doing what it was asked for: gRPC's codes and etcd's own words."""

from __future__ import annotations

from nagaya.wire.grpc import Code


class Refused(Exception):
    """A call failed."""

    def __init__(self, code: Code, words: str) -> None:
        super().__init__(words)
        self.code = code
        self.words = words


class NoMajority(Refused):
    """Too few members are there to agree. etcd does not say so at once: it waits for them."""

    def __init__(self) -> None:
        super().__init__(Code.UNAVAILABLE, "etcdserver: request timed out")


def no_such_method(service: str, method: str) -> Refused:
    """The call is none that is served, in the words of gRPC's library."""
    return Refused(Code.UNIMPLEMENTED, f"unknown method {method} for service {service}")


def no_such_service(service: str) -> Refused:
    """The service is none that is served."""
    return Refused(Code.UNIMPLEMENTED, f"unknown service {service}")


def malformed(why: str) -> Refused:
    """The message cannot be read."""
    return Refused(Code.INTERNAL, f"grpc: error unmarshalling request: {why}")


def late() -> Refused:
    """The time for a call is up."""
    return Refused(Code.DEADLINE_EXCEEDED, "context deadline exceeded")


def not_leader() -> Refused:
    """Only the leader can do that."""
    return Refused(Code.FAILED_PRECONDITION, "etcdserver: not leader")


def bad_transferee() -> Refused:
    """Such a member cannot lead."""
    return Refused(Code.FAILED_PRECONDITION, "etcdserver: bad leader transferee")


def unhealthy() -> Refused:
    """A change of members would be dangerous while others are away."""
    return Refused(Code.UNAVAILABLE, "etcdserver: unhealthy cluster")


def not_enough_started() -> Refused:
    """A change of members would leave too few that have ever started."""
    return Refused(Code.FAILED_PRECONDITION, "etcdserver: re-configuration failed due to not enough started members")


def member_not_found() -> Refused:
    """There is no such member."""
    return Refused(Code.NOT_FOUND, "etcdserver: member not found")


def peer_url_exists() -> Refused:
    """Another member is there already."""
    return Refused(Code.FAILED_PRECONDITION, "etcdserver: Peer URLs already exists")


def bad_urls() -> Refused:
    """A member cannot be reached like that."""
    return Refused(Code.INVALID_ARGUMENT, "etcdserver: given member URLs are invalid")


def too_many_learners() -> Refused:
    """One learner at a time."""
    return Refused(Code.FAILED_PRECONDITION, "etcdserver: too many learner members in cluster")


def not_a_learner() -> Refused:
    """The member votes already."""
    return Refused(Code.FAILED_PRECONDITION, "etcdserver: can only promote a learner member")


def learner_not_ready() -> Refused:
    """The learner has not started, or has not caught up."""
    return Refused(
        Code.FAILED_PRECONDITION, "etcdserver: can only promote a learner member which is in sync with leader"
    )


def not_for_learners() -> Refused:
    """A learner does not answer that."""
    return Refused(Code.FAILED_PRECONDITION, "etcdserver: rpc not supported for learner")


def empty_key() -> Refused:
    """A key must have a name."""
    return Refused(Code.INVALID_ARGUMENT, "etcdserver: key is not provided")


def no_space() -> Refused:
    """A member's database is full."""
    return Refused(Code.RESOURCE_EXHAUSTED, "etcdserver: mvcc: database space exceeded")


def corrupt() -> Refused:
    """A member's data is damaged, so none are served."""
    return Refused(Code.DATA_LOSS, "etcdserver: corrupt cluster")
