"""Whether anybody looks after an object: an answer that is old, or none at all, explains more than what it says."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from nagaya.insight.cause.cause import Cause, Weight
from nagaya.insight.cause.step import step
from nagaya.insight.cause.surroundings import Surroundings
from nagaya.insight.picture.member import Member

PATIENCE: Final = timedelta(seconds=30)
"""How long a controller may take to say something."""
MUTE: Final = frozenset({"MachineDrainRule", "IPAddress", "IPAddressReservation", "ProxmoxVirtualMachine",
                         "ClusterResourceSetBinding", "ExtensionConfig", "Provider"})  # fmt: skip
"""Kinds whose objects have no conditions."""
START: Final = (
    "Start the controllers (`nagaya controllers`, or the part that is missing with --only), or if they run, look at "
    "their log: are this namespace, this kind and its watch-filter label theirs?"
)


def unattended(around: Surroundings, member: Member) -> Cause | None:
    """The cause that nobody looks after an object; None if somebody does, or has had no time to yet."""
    silence = _silence(around, member)
    if not silence:
        return None
    if _age(around, member) < PATIENCE and not member.conditions:
        headline = f"{member.title} is new, and its controller has said nothing of it yet"
        told = step(
            member, "is new: its controller has said nothing of it yet", since=member.metadata.creation_timestamp
        )
        return Cause((told,), Weight.WORKING, headline, "Look again in a moment.", late=True)
    controllers = _controllers(around)
    return Cause(
        (step(member, silence),),
        Weight.HELD if controllers else Weight.UNKNOWN,
        controllers or f"Nobody seems to look after {member.title}: it {silence}",
        START,
        (_seen(around),),
    )


def stopped(around: Surroundings) -> str:
    """That Nagaya's controllers are known not to run; empty if they do, or that is not known."""
    return _controllers(around)


def _silence(around: Surroundings, member: Member) -> str:
    if member.kind in MUTE or member.kind.endswith("Template") or around.paused(member):
        return ""
    observed, generation = member.number("status", "observedGeneration"), member.metadata.generation
    if observed is not None and observed < generation:
        behind = f"has not been looked at since its last change (generation {generation}, seen {observed})"
        return behind if _quiet(around, member) else ""
    if not member.conditions and not member.unreadable and not member.mapping("status"):
        return "has no status: no controller has said anything of it"
    leaves = member.metadata.deletion_timestamp
    deleting = member.condition("Deleting")
    if leaves is not None and deleting is not None and deleting.status == "False" and around.now - leaves > PATIENCE:
        return "is to be deleted, and its controller has not begun with it"
    return ""


def _quiet(around: Surroundings, member: Member) -> bool:
    """Whether nothing has been said of it for a while: a controller may be at work on the change."""
    latest = max((each.last_transition_time for each in member.conditions), default=None)
    return latest is None or around.now - latest > PATIENCE


def _age(around: Surroundings, member: Member) -> timedelta:
    born = member.metadata.creation_timestamp
    return timedelta.max if born is None else around.now - born


def _controllers(around: Surroundings) -> str:
    if not around.leads or any(each.stands(around.now) for each in around.leads):
        return ""
    last = max(around.leads, key=lambda each: each.renewed.timestamp() if each.renewed else 0.0)
    if not last.holder:
        return f"Nagaya's controllers do not run: nobody holds the lease {last.lease}"
    when = f", which was renewed last at {last.renewed:%Y-%m-%d %H:%M:%S} UTC" if last.renewed else ""
    return f"Nagaya's controllers do not run: {last.holder} held the lease {last.lease}{when}"


def _seen(around: Surroundings) -> str:
    if not around.leads:
        return "No lease nagaya-controllers is known, so whether controllers run cannot be told: one alone needs none."
    held = [f"{each.holder} holds {each.lease}" for each in around.leads if each.stands(around.now)]
    return f"Nagaya's controllers run: {', '.join(held)}." if held else "No lease nagaya-controllers is held."
