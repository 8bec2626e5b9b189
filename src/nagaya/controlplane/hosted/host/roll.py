"""In which order a tenant's programs become what they shall be.

Pure: what shall run, what was started before and how that fares, in; the steps that may be taken now, out. Whoever
takes them looks again when something has changed. The order, and why:

- kine before API servers, which have nothing to read from without it;
- new API servers at once; one that shall be otherwise only while all others serve, so one at a time; one that does not
  work anyway, at once;
- the controllers when an API server answers, and changed ones only when all API servers are as they shall be:
  kube-controller-manager must never be newer than an API server that it may talk to;
- what is no longer wanted goes last, when everything that is wanted works.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from nagaya.controlplane.hosted.host.tenant_folder import Started
from nagaya.supervision.spec import ProcessSpec
from nagaya.supervision.status import ProcessStatus, State


class Role(Enum):
    """What a program is for, which decides when it has its turn."""

    STORE = auto()
    API_SERVER = auto()
    BESIDE = auto()
    """Needed by API servers, or by those who reach them, and can be started whenever."""
    CONTROLLER = auto()


@dataclass(frozen=True, slots=True)
class Wanted:
    """One program that shall run."""

    role: Role
    program: str
    version: str
    spec: ProcessSpec
    listens: str = ""
    """Where clients reach it, if that is at an address of this machine."""

    @property
    def name(self) -> str:
        """The name of its process."""
        return self.spec.name

    @property
    def started(self) -> Started:
        """What is written down of it."""
        return Started(self.spec.digest, self.version, self.listens)


@dataclass(frozen=True, slots=True)
class Roll:
    """The steps that may be taken now, and what the others wait for."""

    start: tuple[Wanted, ...] = ()
    """Also what runs as it shall, but was begun by an earlier life of ours: it is taken over."""
    stop: tuple[str, ...] = ()
    waiting: str = ""


def roll(wanted: Sequence[Wanted], started: Mapping[str, Started], processes: Mapping[str, ProcessStatus]) -> Roll:
    """What to do now."""
    look = _Look(started, processes)
    start: list[Wanted] = []
    waits: list[str] = []
    servers = [each for each in wanted if each.role is Role.API_SERVER]
    stores = [each for each in wanted if each.role is Role.STORE]
    start += [each for each in wanted if each.role in (Role.STORE, Role.BESIDE)]
    if all(look.ready(each) for each in stores):
        changed = [each for each in servers if look.changed(each)]
        start += [each for each in servers if each not in changed]
        broken = [each for each in changed if not look.serves(each.name)]
        start += broken
        for each in changed:
            if each in broken:
                continue
            # Those that have their turn later serve as well as those that had it.
            if all(look.serves(other.name) for other in servers if other is not each):
                start.append(each)
            else:
                waits.append("API servers are exchanged one at a time, when all others are ready.")
            break
    else:
        waits.append("API servers wait for kine.")
    settled = bool(servers) and all(not look.changed(each) and look.ready(each) for each in servers)
    answers = any(look.ready(each) for each in servers)
    for each in wanted:
        if each.role is not Role.CONTROLLER:
            continue
        known = each.name in started
        has_turn = settled if look.changed(each) else answers
        if has_turn:
            start.append(each)
        else:
            waits.append(
                f"{each.program} waits for {'all API servers to be as declared' if known else 'an API server'}."
            )
    names = {each.name for each in wanted}
    surplus = [name for name in {**started, **processes} if name not in names and look.runs(name)]
    done = not servers or (settled and all(not look.changed(each) for each in wanted))
    due = tuple(each for each in start if look.is_due(each))
    return Roll(due, tuple(surplus) if done else (), waits[0] if waits else "")


@dataclass(frozen=True, slots=True)
class _Look:
    started: Mapping[str, Started]
    processes: Mapping[str, ProcessStatus]

    def changed(self, wanted: Wanted) -> bool:
        """Whether it was started as something else."""
        before = self.started.get(wanted.name)
        return before is not None and before.digest != wanted.spec.digest

    def is_due(self, wanted: Wanted) -> bool:
        """Whether the supervisor has not been told of it, in this form."""
        status = self.processes.get(wanted.name)
        if status is None or status.state in (State.STOPPED, State.UNCLAIMED):
            return True
        return status.digest != wanted.spec.digest or self.started.get(wanted.name) != wanted.started

    def ready(self, wanted: Wanted) -> bool:
        """Whether it runs as it shall, and has said that it is ready."""
        status = self.processes.get(wanted.name)
        return status is not None and status.state is State.READY and not self.changed(wanted)

    def serves(self, name: str) -> bool:
        """Whether it may be at work, in whatever form: one that an earlier life of ours began is believed to be."""
        status = self.processes.get(name)
        return status is not None and status.state in (State.READY, State.UNCLAIMED)

    def runs(self, name: str) -> bool:
        status = self.processes.get(name)
        return status is not None and status.state is not State.STOPPED
