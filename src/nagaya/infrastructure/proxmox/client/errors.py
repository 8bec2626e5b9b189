"""Why a call to Proxmox VE failed, as types that code can decide by, and sentences that people can act on.

PVE's own numbers say little: a missing VM is a 500, and so are a lock, a lost quorum and a wrong digest. The classes
here are what matters to a caller. All of them keep the evidence: method, path, host, HTTP status, reason phrase, the
message of the body, the errors of single parameters, the UPID and the last lines of the task's log. `str()` of each is
one sentence: what failed, why, and what to do where that is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Final

from nagaya.foreign_text import cut, escape_line

_MACHINE: Final = re.compile(r"/qemu/(\d+)(?:/|$)")
_LONGEST: Final = 2000
"""Characters of what PVE said in a message."""
_TASK_OF: Final = re.compile(r"UPID(?::[^:]+){5}:(\d+):")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a call that failed. Holds no parameters and no headers: those may be secret."""

    method: str
    path: str
    """Below /api2/json."""
    host: str = ""
    """The host of the cluster that the call is for; without one, the endpoint that was asked."""
    status: int | None = None
    """None if there was no answer."""
    reason: str = ""
    message: str = ""
    errors: Mapping[str, str] = field(default_factory=dict)
    upid: str = ""
    log: Sequence[str] = ()
    """The last lines of the task's log."""

    @property
    def text(self) -> str:
        """What PVE said: the body's message, which is whole, or the reason phrase."""
        return (self.message or self.reason).strip()

    @property
    def changes(self) -> bool:
        """Whether the call was to change something."""
        return self.method != "GET"


class ProxmoxError(Exception):
    """Any of them."""

    kind: ClassVar = "Refused"
    """Its name in metrics, traces and conditions."""
    remedy: str = ""

    def __init__(self, evidence: Evidence, remedy: str = "") -> None:
        super().__init__(evidence, remedy)
        self.evidence = evidence
        if remedy:
            self.remedy = remedy

    @property
    def why(self) -> str:
        """What PVE said, on one line, with what it said of single parameters."""
        evidence = self.evidence
        named = "; ".join(f"{_line(name)}: {_line(text)}" for name, text in sorted(evidence.errors.items()))
        return ": ".join(part for part in (_line(evidence.text).rstrip("."), cut(named, _LONGEST)) if part)

    def __str__(self) -> str:
        evidence = self.evidence
        why = self.why
        named = not evidence.host or f"/nodes/{evidence.host}" in evidence.path or why.startswith(evidence.host)
        at = "" if named else f" on {evidence.host}"
        status = f" (HTTP {evidence.status})" if evidence.status is not None else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{evidence.method} {evidence.path}{at} failed: {why}{status}.{remedy}"


class Refused(ProxmoxError):
    """PVE refused for a reason that has no class of its own."""


class Unauthorized(ProxmoxError):
    """401: the credentials are not accepted. PVE does not say whether they are wrong, expired or disabled."""

    kind = "Unauthorized"
    remedy = "Check the token or password of the connection: PVE does not tell a wrong one from an expired one."


class Forbidden(ProxmoxError):
    """403: a right is missing. `path` and `privileges` are empty when PVE names nothing."""

    kind = "Forbidden"

    def __init__(self, evidence: Evidence, path: str = "", privileges: tuple[str, ...] = (), remedy: str = "") -> None:
        self.path = path
        self.privileges = privileges
        """One of them is enough."""
        if not remedy and privileges:
            remedy = f"The credentials need {' or '.join(privileges)} on {path}."
        elif not remedy and evidence.path.endswith("/clone"):
            remedy = (
                "PVE does not say which right is missing. To clone, the credentials need VM.Clone on the template, and "
                "VM.Allocate on the pool that the machine or its connection names; without a pool, on /vms."
            )
        elif not remedy:
            remedy = "PVE names neither path nor privilege: the connection's preflight lists the missing ones."
        super().__init__(evidence, remedy)


class RootOnly(Forbidden):
    """PVE lets only root@pam itself do this, and no token: no privilege helps."""

    kind = "RootOnly"

    def __init__(self, evidence: Evidence) -> None:
        super().__init__(evidence, remedy="Only root@pam with a password may do this; no privilege grants it.")


class HostUnreachable(ProxmoxError):
    """The host did not answer (595, 596), or no endpoint did."""

    kind = "HostUnreachable"

    def __init__(self, evidence: Evidence, *, may_have_happened: bool = False, since: str = "") -> None:
        self.may_have_happened = may_have_happened and evidence.changes
        self.since = since
        """When it was last found so, if the call was not even tried (a date)."""
        remedy = "It may have happened all the same: look before doing it again." if self.may_have_happened else ""
        super().__init__(evidence, remedy)

    @property
    def why(self) -> str:
        """Which host, and how it fails. Not since when: the same failure is the same sentence each time."""
        host = self.evidence.host or "no host"
        return f"{host} is unreachable: {_line(self.evidence.text) or 'no reason given'}"


class NoEndpoint(HostUnreachable):
    """No endpoint of the connection answers: nothing is known of the data center, nor of any host. The call has not
    happened."""

    kind = "NoEndpoint"

    @property
    def why(self) -> str:
        """How each of them fails."""
        return f"no endpoint answers: {_line(self.evidence.text)}"


class NotFound(ProxmoxError):
    """What was named does not exist (there). `what` is a word of the domain: machine, storage, pool, task, host, ..."""

    kind = "NotFound"

    def __init__(self, evidence: Evidence, what: str = "") -> None:
        self.what = what
        remedy = ""
        if what == "pool" and evidence.changes:
            remedy = "Make it in Proxmox VE (`pvesh create /pools --poolid NAME`), or name another one."
        super().__init__(evidence, remedy)


class Locked(ProxmoxError):
    """A machine's configuration is locked by an operation: `lock` is its kind."""

    kind = "Locked"

    def __init__(self, evidence: Evidence, lock: str = "") -> None:
        self.lock = lock
        named = _MACHINE.search(evidence.path) or _TASK_OF.match(evidence.upid)
        super().__init__(
            evidence,
            f"It is free again when the {lock or 'other'} operation ends; if none runs any more, `qm unlock "
            f"{named[1] if named is not None else '<vmid>'}` on the host frees it.",
        )


class Busy(ProxmoxError):
    """Others held a lock for too long. Trying again later helps."""

    kind = "Busy"
    remedy = "Others are at work there: it is tried again."


class NoQuorum(ProxmoxError):
    """The cluster has no quorum: it can be read, and not changed."""

    kind = "NoQuorum"
    remedy = "More than half of the cluster's hosts must be on and connected (`pvecm status`)."


class Conflict(ProxmoxError):
    """Somebody else was faster: the configuration changed meanwhile, or the name is taken."""

    kind = "Conflict"


class WrongState(ProxmoxError):
    """It exists, but is not in a state in which this can be done: running, stopped, protected, disabled, not empty."""

    kind = "WrongState"


class AgentNotReady(WrongState):
    """The guest agent is not configured, or does not answer (yet)."""

    kind = "AgentNotReady"
    remedy = "The guest needs qemu-guest-agent, and the machine `agent: enabled=1`."


class AgentFailed(ProxmoxError):
    """The guest agent answered with an error."""

    kind = "AgentFailed"


class Exhausted(ProxmoxError):
    """No VMID is free in the range of the data center."""

    kind = "Exhausted"
    remedy = "Widen next-id in the data center's options."


class StorageFull(ProxmoxError):
    """There is no space left on a storage."""

    kind = "StorageFull"
    remedy = "Free space on the storage, or name another one (storage, placement.storages)."


class ParameterError(ProxmoxError):
    """PVE does not take the parameters. `evidence.errors` says which, where PVE does."""

    kind = "ParameterError"


class NotImplemented(ProxmoxError):
    """This PVE does not know the call: it is older, or what answers is no PVE."""

    kind = "NotImplemented"
    remedy = "This version of Proxmox VE does not have the call, or the address leads to something else."


class Malformed(ProxmoxError):
    """An answer that is none of PVE's: `evidence.message` has its first bytes."""

    kind = "Malformed"
    remedy = "Something between here and Proxmox VE answers in its place, or the address leads elsewhere."


class TaskFailed(ProxmoxError):
    """A task was accepted and failed later. `because` is its message as an error of its own class, e.g. Locked."""

    kind = "TaskFailed"

    def __init__(self, evidence: Evidence, exitstatus: str, because: ProxmoxError | None = None) -> None:
        self.exitstatus = exitstatus
        self.because = because
        super().__init__(evidence, because.remedy if because is not None else "")

    def __str__(self) -> str:
        evidence = self.evidence
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"the task {evidence.upid} on {evidence.host} failed: {_line(self.exitstatus).rstrip('.')}.{remedy}"


class TaskVanished(ProxmoxError):
    """The host knows nothing of the task: its log was rotated away, or the host was installed anew."""

    kind = "TaskVanished"
    remedy = "How it ended is not known: look at what it was to change."

    def __str__(self) -> str:
        return f"{self.evidence.host} knows no task {self.evidence.upid}. {self.remedy}"


def _line(text: str) -> str:
    return escape_line(" ".join(text.split()), _LONGEST)
