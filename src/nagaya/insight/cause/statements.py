"""What is the matter with an object, said in a few words: the links of a chain before its deepest one."""

from __future__ import annotations

from nagaya.api.meta import Condition
from nagaya.insight.cause.cause import Weight
from nagaya.insight.cause.condition import weight_of
from nagaya.insight.cause.step import Step, step
from nagaya.insight.picture.member import Member

_GROUPS = ("MachineDeployment", "MachineSet", "MachinePool")


def statement(member: Member, condition: Condition | None = None) -> Step:
    """The sentence of an object that something else is to blame for. `condition` is the one that shows it."""
    if member.metadata.deleting:
        return step(member, "is being deleted", since=member.metadata.deletion_timestamp)
    sums = next((found for type in ("Available", "Ready") if (found := member.condition(type)) is not None), None)
    if member.kind in _GROUPS:
        return step(member, _counted(member), sums if sums is not None and sums.status != "True" else condition)
    if sums is not None and sums.status != "True":
        word = "available" if sums.type == "Available" else "ready"
        return step(member, f"is not {word}" if sums.status == "False" else f"is not known to be {word}", sums)
    if condition is None:
        return step(member, "has parts that are not well")
    if weight_of(condition) is Weight.WORKING:
        return step(member, f"waits ({condition.reason})", condition)
    return step(member, f"is not as it should be ({condition.type} is {condition.status})", condition)


def _counted(group: Member) -> str:
    wanted = group.number("spec", "replicas")
    field, word = ("readyReplicas", "ready") if group.kind == "MachineSet" else ("availableReplicas", "available")
    there, current = group.number("status", field) or 0, group.number("status", "upToDateReplicas")
    if wanted is None:
        return "has machines that are not ready"
    if there < wanted:
        return f"has {there} of {wanted} machines {word}"
    if current is not None and current < wanted:
        return f"has {current} of {wanted} machines up to date"
    more = (group.number("status", "replicas") or 0) - wanted
    if more > 0:
        return f"has {more} machine{'s' if more > 1 else ''} more than it is to have"
    return "has machines that are not ready"
