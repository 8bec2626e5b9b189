"""What etcd refuses, as exceptions that callers can tell apart by class.

The class follows what etcd said where that has a meaning of its own (`NotLeader`, `LearnerNotReady`), and the code of
gRPC otherwise. `str` of an error is a sentence with the call and etcd's words; keys and values are in none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.foreign_text import escape_line
from nagaya.wire.grpc import Code

_LONGEST: Final = 1000  # characters that etcd has to say


class EtcdError(Exception):
    """A call failed."""

    def __init__(self, method: str, code: Code, words: str) -> None:
        words = escape_line(words, _LONGEST)
        super().__init__(f"etcd: {method}: {words} ({code.name})")
        self.method = method
        self.code = code
        self.words = words


class InvalidArgument(EtcdError):
    """etcd does not understand the request, or it can never be fulfilled."""


class NotFound(EtcdError):
    """There is no such thing."""


class MemberNotFound(NotFound):
    """There is no such member."""


class LeaseNotFound(NotFound):
    """There is no such lease, or not any more."""


class FailedPrecondition(EtcdError):
    """Not in this state."""


class NotLeader(FailedPrecondition):
    """Only the leader can do that."""


class LearnerNotReady(FailedPrecondition):
    """The learner has not caught up with the leader."""


class NotLearner(FailedPrecondition):
    """The member votes already."""


class TooManyLearners(FailedPrecondition):
    """There is another learner, which has to be promoted or removed first."""


class MemberExists(FailedPrecondition):
    """There is a member of that ID or that address already."""


class NotEnoughStarted(FailedPrecondition):
    """The change would leave too few members that run."""


class UserExists(FailedPrecondition):
    """There is a user of that name already."""


class UserNotFound(FailedPrecondition):
    """There is no user of that name."""


class RoleExists(FailedPrecondition):
    """There is a role of that name already."""


class RoleNotFound(FailedPrecondition):
    """There is no role of that name."""


class PermissionDenied(EtcdError):
    """Whoever asks may not."""


class Unauthenticated(EtcdError):
    """etcd does not know who asks."""


class ResourceExhausted(EtcdError):
    """There is too little of something."""


class NoSpace(ResourceExhausted):
    """The database has reached its quota: compact, defragment, and disarm the alarm."""


class OutOfRange(EtcdError):
    """A revision that etcd does not have."""


class Compacted(OutOfRange):
    """The revision was compacted away."""


class DeadlineExceeded(EtcdError):
    """There was no answer in time. The call may have taken effect."""


class Cancelled(EtcdError):
    """The call was ended by etcd."""


class DataLoss(EtcdError):
    """The data of a member is damaged."""


class Unavailable(EtcdError):
    """Not now. The call may have taken effect."""


class NoLeader(Unavailable):
    """There is no leader: no majority of the members is connected, or an election is under way."""


class UnhealthyCluster(Unavailable):
    """A change of members would be dangerous now, as some are not connected."""


class ConnectionLost(Unavailable):
    """The connection broke before there was an answer. `sent` says whether the call may have taken effect."""

    def __init__(self, method: str, words: str, *, sent: bool) -> None:
        super().__init__(method, Code.UNAVAILABLE, words)
        self.sent = sent


_BY_WORDS: Final[Mapping[str, type[EtcdError]]] = {
    "etcdserver: member not found": MemberNotFound,
    "etcdserver: requested lease not found": LeaseNotFound,
    "etcdserver: not leader": NotLeader,
    "etcdserver: can only promote a learner member which is in sync with leader": LearnerNotReady,
    "etcdserver: can only promote a learner member": NotLearner,
    "etcdserver: too many learner members in cluster": TooManyLearners,
    "etcdserver: Peer URLs already exists": MemberExists,
    "etcdserver: member ID already exist": MemberExists,
    "etcdserver: re-configuration failed due to not enough started members": NotEnoughStarted,
    "etcdserver: user name already exists": UserExists,
    "etcdserver: user name not found": UserNotFound,
    "etcdserver: role name already exists": RoleExists,
    "etcdserver: role name not found": RoleNotFound,
    "etcdserver: mvcc: database space exceeded": NoSpace,
    "etcdserver: mvcc: required revision has been compacted": Compacted,
    "etcdserver: no leader": NoLeader,
    "etcdserver: unhealthy cluster": UnhealthyCluster,
}
_BY_CODE: Final[Mapping[Code, type[EtcdError]]] = {
    Code.CANCELLED: Cancelled,
    Code.INVALID_ARGUMENT: InvalidArgument,
    Code.DEADLINE_EXCEEDED: DeadlineExceeded,
    Code.NOT_FOUND: NotFound,
    Code.PERMISSION_DENIED: PermissionDenied,
    Code.RESOURCE_EXHAUSTED: ResourceExhausted,
    Code.FAILED_PRECONDITION: FailedPrecondition,
    Code.OUT_OF_RANGE: OutOfRange,
    Code.UNAVAILABLE: Unavailable,
    Code.DATA_LOSS: DataLoss,
    Code.UNAUTHENTICATED: Unauthenticated,
}


def from_status(method: str, code: Code, words: str) -> EtcdError:
    """The error that the trailers of an answer tell of."""
    kind = _BY_WORDS.get(words) or _BY_CODE.get(code, EtcdError)
    return kind(method, code, words or "no explanation was given")
