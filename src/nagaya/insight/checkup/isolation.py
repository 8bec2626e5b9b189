"""Whether programs of hosted control planes are kept apart, as their controller tells. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.api.controlplane.hosted_conditions import HostedControlPlaneCondition
from nagaya.api.controlplane.hosted_control_plane import HOSTED_CONTROL_PLANES
from nagaya.insight.checkup.finding import Finding, Subject
from nagaya.insight.picture.member import Member
from nagaya.insight.picture.message import one_line

SUBJECT: Final = Subject("Hosted control planes")


def check(members: Sequence[Member]) -> Iterator[Finding]:
    """One finding for each reason, however many control planes have it."""
    planes = [each for each in members if each.kind == HOSTED_CONTROL_PLANES.kind]
    told = [each.condition(HostedControlPlaneCondition.PROGRAMS_ISOLATED) for each in planes]
    for message in sorted({each.message for each in told if each is not None and each.status == "False"}):
        yield SUBJECT.warning("isolation", one_line(message), "docs/hosted-control-planes.md, Isolation")
    if any(each is not None for each in told) and all(each is None or each.status == "True" for each in told):
        yield SUBJECT.ok("isolation", "Each has programs with a user and limits of their own.")
