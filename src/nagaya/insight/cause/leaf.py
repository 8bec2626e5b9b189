"""The deepest links: what an object itself is to blame for, as a cause with its evidence and its remedy. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.meta import Condition
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES
from nagaya.insight.cause.attention import PATIENCE, START
from nagaya.insight.cause.cause import Cause, Weight
from nagaya.insight.cause.deletion import finalizers, hooks, strangers
from nagaya.insight.cause.remedies import REMEDIES, further, remedy
from nagaya.insight.cause.step import listed, step
from nagaya.insight.cause.surroundings import Surroundings
from nagaya.insight.cause.task import meaning
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.message import one_line
from nagaya.insight.picture.references import Reference, reference_at
from nagaya.insight.story.tasks import named_in

_DELETING: Final = "Deleting"
"""Why an object without a condition of that name says it is not ready."""
_HOLDING: Final = {
    "DrainingNode": Weight.HELD,
    "WaitingForVolumeDetach": Weight.HELD,
    "InUse": Weight.HELD,
    "WaitingForHost": Weight.HELD,
    "DeletionFailed": Weight.FAILED,
    "InternalError": Weight.FAILED,
}
"""Why a deletion does not go on by itself; for other reasons it does."""
REPLACED: Final = "is to be replaced"
"""What a machine does that works and is not as its owner wants machines now."""
_TEMPLATES: Final = (
    ("spec", "template", "spec", "infrastructureRef"),
    ("spec", "template", "spec", "bootstrap", "configRef"),
    ("spec", "machineTemplate", "spec", "infrastructureRef"),
)
"""Where objects that make machines name templates."""


def of_condition(around: Surroundings, member: Member, bad: Condition, weight: Weight, more: str = "") -> Cause:
    """What a condition says, explained by the task of Proxmox VE that its message names."""
    message = _with_names(member, one_line(bad.message).rstrip("."))
    headline = f"{member.title}: {message or f'{bad.type} is {bad.status} ({bad.reason})'}"
    says = f"is being deleted ({bad.reason})" if bad.type == "Deleting" else _says(bad)
    if (member.kind, bad.type) == ("Machine", "UpToDate") and weight is Weight.WORKING:
        headline, says = f"{member.title} {REPLACED}: {message or bad.reason}", REPLACED
    evidence = (more,) if more else ()
    cause = Cause((step(member, says, bad),), weight, headline, remedy(member, bad, weight), evidence)
    tasks = named_in(bad.message)
    if not tasks:
        return cause
    task = tasks[-1]
    told = around.told.get(task.text)
    log = () if told is None else told.log
    if told is not None:
        evidence = (*evidence, f"Proxmox VE says of task {task.text}: it {told.outcome.rstrip('.')}.")
    cause = replace(cause, evidence=evidence, log=log, task=task.text)
    found = None if weight is Weight.WORKING else meaning(task, [bad.message, *log])
    if found is None:
        return cause
    headline = f"PVE task {task.text} ({task.type}) on host {task.node} failed: {found.what}"
    return replace(cause, headline=headline, remedy=found.remedy, evidence=(_told(bad), *evidence))


def repeated(around: Surroundings, member: Member, bad: Condition, below: Sequence[Member]) -> Cause:
    """An object repeats what others said before, and do not say any more."""
    those = listed([each.title for each in below])
    headline = f"{member.title} says that {bad.type} is {bad.status}, and nothing is wrong with {those} any more"
    told = (step(member, _says(bad), bad),)
    news = max((each.last_transition_time for part in below for each in part.conditions), default=None)
    if news is None or around.now - news > PATIENCE:
        return Cause(told, Weight.UNKNOWN, headline, START, (_told(bad),))
    return Cause(told, Weight.WORKING, headline, "Look again in a moment.", (_told(bad),), late=True)


def unreadable(member: Member) -> Cause:
    """Conditions that make no sense."""
    headline = f"The conditions of {member.title} cannot be read: {member.unreadable}"
    return Cause((step(member, "has conditions that cannot be read"),), Weight.UNKNOWN, headline, further(member))


def paused(member: Member) -> Cause | None:
    """That an object is left alone by its own wish; None if it is not."""
    if member.kind == "Cluster" and member.object.at("spec", "paused") is True:
        what = "spec.paused is true"
        how = f'kubectl patch {_command(member)} --type merge -p \'{{"spec":{{"paused":false}}}}\''
    elif PAUSED in member.metadata.annotations:
        what, how = f"it has the annotation {PAUSED}", f"kubectl annotate {_command(member)} {PAUSED}-"
    else:
        return None
    reach = "it or anything in it" if member.kind == "Cluster" else "it"
    headline = f"{member.title} is paused ({what}): nothing is done for {reach}, deletion included"
    condition = member.condition("Paused") if member.holds("Paused") else None
    return Cause((step(member, "is paused", condition),), Weight.HELD, headline, f"Let it go on: `{how}`.")


def missing(around: Surroundings, member: Member) -> Iterator[Cause]:
    """Objects that an object names and that are not there."""
    if around.cluster_name and member is around.picture.cluster:
        name = around.cluster_name
        leaf = step(member, f"belongs to Cluster {member.namespace}/{name}, which does not exist")
        help = (
            f"Create Cluster {name}, or restore it from a backup. Deleting {member.title} instead gives up all that it "
            "owns, and the data of that."
        )
        yield Cause((leaf,), Weight.HELD, leaf.sentence, help)
    for path, reference in around.missing_of(member):
        leaf = step(member, f"names {reference.kind} {reference.name} in .{path}, which does not exist")
        if (reference.group, reference.kind) in around.unserved:
            headline = f"Nobody serves the kind {reference.kind} of {reference.group}, which {member.title} needs"
            yield Cause(
                (leaf,), Weight.HELD, headline, "Install the provider that brings it, or correct the reference."
            )
        else:
            yield Cause((leaf,), Weight.HELD, leaf.sentence, _maker(member, reference))


def by_contract(member: Member) -> Iterator[Cause]:
    """An object without conditions, such as those of older providers: what the contract makes it say."""
    failure = member.text("status", "failureMessage")
    if failure:
        told = f"status.failureReason is {member.text('status', 'failureReason') or 'not given'}."
        leaf = step(member, "has failed for good")
        yield Cause((leaf,), Weight.FAILED, f"{member.title}: {one_line(failure)}", further(member), (told,))
        return
    if member.kind == PROXMOX_VIRTUAL_MACHINES.kind and (said := member.text("status", "message")):
        leaf = step(member, f"is {member.text('status', 'phase') or 'there'}")
        yield Cause((leaf,), Weight.HELD, f"{member.title}: {one_line(said).rstrip('.')}")
        return
    done = (
        member.object.at("status", "initialization", "provisioned"),
        member.object.at("status", "initialization", "dataSecretCreated"),
        member.object.at("status", "initialization", "controlPlaneInitialized"),
        member.object.at("status", "ready"),
    )
    if False in done and True not in done:
        leaf = step(member, "is not ready, and does not say why")
        yield Cause((leaf,), Weight.UNKNOWN, leaf.sentence, further(member))


def first_to_go(member: Member) -> Cause:
    """Something has to go before another can, and nobody has asked for that."""
    leaf = step(member, "has to go first, and is not being deleted yet")
    help = f"Its owner deletes it. If that does not happen: `kubectl delete {_command(member)}`."
    return paused(member) or Cause((leaf,), Weight.WORKING, leaf.sentence, help)


def held(around: Surroundings, member: Member) -> Cause:
    """What holds an object that is to go and that nothing else has to go before."""
    deleting = member.condition("Deleting")
    if deleting is not None and (found := hooks(member)):
        leaf = step(member, f"is held by the annotation{_plural(found)} {', '.join(found)}", deleting)
        return Cause((leaf,), Weight.HELD, leaf.sentence, remedy(member, deleting, Weight.HELD), (_told(deleting),))
    by = finalizers(member)
    unknown = strangers(member)
    if unknown and (deleting is None or deleting.reason in ("DeletionCompleted", "NotDeleting")):
        leaf = step(member, f"is held by the finalizer{_plural(unknown)} {', '.join(unknown)}")
        headline = f"{leaf.sentence}, which no controller of Nagaya sets"
        help = "Whoever set it takes it off when it is done. Taking it off by hand may leave something behind."
        return Cause((leaf,), Weight.HELD, headline, help, (f"{by}.",))
    if deleting is not None and deleting.status == "True":
        weight = _HOLDING.get(deleting.reason, Weight.WORKING)
        return of_condition(around, member, deleting, weight, f"{by}." if by else "")
    told = next((each for each in member.conditions if each.reason == _DELETING and each.message), None)
    if told is not None:
        weight = Weight.HELD if (member.kind, _DELETING) in REMEDIES else Weight.WORKING
        return of_condition(around, member, told, weight, f"{by}." if by else "")
    leaf = step(member, "is being deleted", since=member.metadata.deletion_timestamp)
    return Cause((leaf,), Weight.WORKING, leaf.sentence, further(member), (f"{by}.",) if by else ())


def _maker(member: Member, reference: Reference) -> str:
    """Who should have made an object that is not there."""
    owner = member.metadata.controller
    if member.kind == "Machine" and owner is not None:
        return (
            f"{owner.kind} {owner.name} made it together with {member.title}, so somebody deleted it: delete "
            f"{member.title}, and another is made."
        )
    if reference.kind == "ProxmoxConnection":
        return "Make it with `nagaya proxmox connect`, or correct spec.connectionRef."
    return f"You make it: create {reference}, or correct the reference."


def _with_names(member: Member, message: str) -> str:
    """A message of Cluster API that says only of which kind the template is that does not exist, with its name."""
    for reference in filter(None, (reference_at(member, *path) for path in _TEMPLATES)):
        missing = rf"\b{re.escape(reference.kind)}(?= (?:and \w+ )?do(?:es)? not exist)"
        message = re.sub(missing, f"{reference.kind} {reference.name}", message)
    return message


def _says(condition: Condition) -> str:
    return f"says that {condition.type} is {condition.status} ({condition.reason})"


def _told(condition: Condition) -> str:
    message = one_line(condition.message).rstrip(".")
    return f"{condition.type} is {condition.status} ({condition.reason}){f': {message}' if message else ''}."


def _command(member: Member) -> str:
    """An object as kubectl is told of it."""
    where = f" -n {member.namespace}" if member.namespace else ""
    return f"{member.kind.lower()}.{member.group} {member.name}{where}"


def _plural(names: Sequence[str]) -> str:
    return "s" if len(names) > 1 else ""
