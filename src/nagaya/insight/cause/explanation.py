"""The answer to "why": how an object stands, in a sentence, and the causes of that. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from nagaya.insight.cause.attention import MUTE, stopped
from nagaya.insight.cause.cause import Cause, Weight
from nagaya.insight.cause.condition import is_good
from nagaya.insight.cause.joined import joined
from nagaya.insight.cause.remedies import further
from nagaya.insight.cause.step import Step
from nagaya.insight.cause.surroundings import Surroundings
from nagaya.insight.cause.walk import causes
from nagaya.insight.picture.member import Member


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why an object is as it is."""

    kind: str
    namespace: str
    name: str
    summary: str
    """How it stands: a sentence without its end."""
    since: datetime | None
    well: bool
    """Whether nothing is wrong."""
    causes: tuple[Cause, ...] = ()
    facts: tuple[str, ...] = ()
    """What is worth knowing of an object that is well, or was looked at in vain; a sentence each."""

    @property
    def tasks(self) -> frozenset[str]:
        """The UPIDs of tasks of Proxmox VE that are to blame."""
        return frozenset(each.task for each in self.causes if each.task)

    def document(self) -> dict[str, Any]:
        """For programs. Fields without a value are left out."""
        found: dict[str, Any] = {
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
            "summary": f"{self.summary}.",
            "since": _date(self.since),
            "well": self.well,
            "facts": list(self.facts),
            "causes": [_cause(each) for each in self.causes],
        }
        return {name: value for name, value in found.items() if value not in ("", [])}


def explain(around: Surroundings, member: Member) -> Explanation:
    """Explain an object."""
    found = joined(causes(around, member))
    title = f"{member.kind} {member.namespace}/{member.name}" if member.namespace else member.title
    state, since = _state(member)
    facts = _facts(around, member, found)
    well = not found and state is not False and not member.metadata.deleting
    return Explanation(
        member.kind, member.namespace, member.name, _summary(title, member, state, found), since, well, found, facts
    )


def _state(member: Member) -> tuple[bool | None, datetime | None]:
    """Whether the object says that it is well, and since when; None if it says nothing."""
    if member.metadata.deleting:
        return False, member.metadata.deletion_timestamp
    sums = [found for type in ("Available", "Ready") if (found := member.condition(type)) is not None]
    if not sums:
        return None, None
    dates = [each.last_transition_time for each in sums[:1] if each.last_transition_time.year > 1]
    return is_good(member), dates[0] if dates else None


def _summary(title: str, member: Member, state: bool | None, found: tuple[Cause, ...]) -> str:
    if member.metadata.deleting:
        return f"{title} is being deleted"
    word = "available" if member.condition("Available") is not None else "ready"
    if not found:
        if state is None:
            silent = " Objects of this kind have no conditions" if member.kind in MUTE else ""
            return f"Nothing is known to be wrong: {title} says nothing against it.{silent}".rstrip(".")
        return f"Nothing is wrong: {title} is {word}" if state else f"{title} is not {word}, and nothing says why"
    if state is None:
        return f"{title} does not say how it is"
    if state:
        works = all(each.weight is Weight.WORKING for each in found)
        return f"{'Something is under way' if works else 'Not all is well'}, though {title} is {word}"
    if all(each.weight is Weight.WORKING for each in found):
        return f"It is being worked on: {title} is not {word} yet"
    return f"{title} is not {word}"


def _facts(around: Surroundings, member: Member, found: tuple[Cause, ...]) -> tuple[str, ...]:
    facts = []
    if (halt := stopped(around)) and not any(each.headline == halt for each in found):
        facts.append(f"{halt}. What is told here may be old, and nothing goes on until they do.")
    if member.simulated or (member.kind == "Cluster" and around.picture.simulated):
        real = member.text("spec", "controlPlaneRef", "kind") == "HostedControlPlane"
        runs = "its machines are, and nothing runs on them" if real else "nothing of it runs anywhere"
        facts.append(f"It is simulated: {runs}.")
    if found:
        return tuple(facts)
    if member.kind == "Cluster":
        machines = around.picture.machines
        ready = sum(each.holds("Ready") for each in machines)
        facts.append(f"{ready} of {len(machines)} machines are ready.")
    elif not is_good(member):
        looked = [each.type for each in member.conditions]
        facts.append(f"Looked at: {', '.join(looked) if looked else 'an object without conditions'}.")
        facts.append(further(member))
    return tuple(facts)


def _cause(cause: Cause) -> dict[str, Any]:
    found: dict[str, Any] = {
        "weight": cause.weight.name.lower(),
        "cause": f"{cause.headline}.",
        "remedy": cause.remedy,
        "chain": [_step(each) for each in cause.steps],
        "evidence": list(cause.evidence),
        "task": cause.task,
        "log": list(cause.log),
        "also": list(cause.also),
    }
    return {name: value for name, value in found.items() if value}


def _step(step: Step) -> dict[str, Any]:
    condition = step.condition
    found: dict[str, Any] = {
        "kind": step.kind,
        "namespace": step.namespace,
        "name": "" if step.names else step.name,
        "names": list(step.names),
        "says": f"{step.sentence}.",
        "since": _date(step.since),
        "condition": "" if condition is None else condition.type,
        "status": "" if condition is None else condition.status,
        "reason": "" if condition is None else condition.reason,
    }
    return {name: value for name, value in found.items() if value}


def _date(date: datetime | None) -> str:
    return "" if date is None else date.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
