"""Whether anybody works for the management API: by leases, by who watches, and by objects that nobody has looked at."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from nagaya.clusters.leases import BESIDE_API, ELECTED
from nagaya.insight.checkup.finding import Finding
from nagaya.insight.checkup.management import SUBJECT
from nagaya.insight.picture.member import Member
from nagaya.kube.client import Client
from nagaya.kube.election import LEASES, Lease
from nagaya.kube.errors import ApiError

CHECK: Final = "controllers"
PATIENCE: Final = timedelta(minutes=1)
"""How long a controller may take to look at an object."""
START: Final = "nagaya controllers --install-crds"
_FIGURE: Final = "apiserver_longrunning_requests"
_WATCHES: Final = re.compile(rf"^{_FIGURE}\{{([^}}]*)\}}\s+(\S+)", re.MULTILINE)
_CLUSTERS, _WATCH = 'resource="clusters"', 'verb="WATCH"'
_MUTE: Final = ("MachineDrainRule", "IPAddress", "IPAddressReservation", "ProxmoxVirtualMachine", "ExtensionConfig")
"""Kinds whose objects have no status that says that somebody looked at them."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What tells of controllers."""

    leases: tuple[Lease, ...] = ()
    watches: int | None = None
    """How many watch Clusters at the server that was asked; None if it does not tell."""
    refused: str = ""
    """Why leases could not be read."""


async def look(client: Client) -> Seen:
    """Ask. Figures are only asked for where controllers may run of which no lease tells."""
    try:
        all_there = (await client.list(LEASES)).items
    except ApiError as error:
        return Seen(watches=await _watches(client), refused=str(error))
    leases = tuple(each for each in all_there if each.metadata.name in (ELECTED, BESIDE_API.name))
    beside = any(each.metadata.name == BESIDE_API.name for each in leases)
    return Seen(leases, None if beside else await _watches(client))


async def _watches(client: Client) -> int | None:
    try:
        return watches(bytes((await client.raw("GET", "/metrics", accept="text/plain")).body).decode(errors="replace"))
    except ApiError:
        return None


def watches(figures: str) -> int | None:
    """How many watch Clusters, as a server's figures say; None if they do not."""
    if _FIGURE not in figures:
        return None
    listed = _WATCHES.findall(figures)
    return int(sum(float(value) for labels, value in listed if _CLUSTERS in labels and _WATCH in labels))


def check(seen: Seen, members: Iterable[Member], now: datetime) -> Finding:
    """Whether controllers run."""
    for each in seen.leases:
        if each.metadata.name == BESIDE_API.name:
            holder = each.spec.holder_identity or "unknown"
            return SUBJECT.ok(CHECK, f"They run in the process of the management API ({holder}).")
    held = [each for each in seen.leases if each.spec.holder_identity]
    fresh = [each for each in held if _is_fresh(each, now)]
    if fresh:
        names = ", ".join(f"{each.spec.holder_identity} holds {_key(each)}" for each in fresh)
        return SUBJECT.ok(CHECK, f"They run: {names}.")
    waiting = unattended(members, now)
    if held:
        last = max(held, key=lambda each: each.spec.renew_time or "")
        told = f"{last.spec.holder_identity} renewed the lease {_key(last)} last at {last.spec.renew_time}."
        if seen.watches and not waiting:
            others = f"{told} Somebody else watches Clusters: controllers without a lease, or a person."
            return SUBJECT.warning(CHECK, others, f"kubectl delete -n {last.metadata.namespace} lease {ELECTED}")
        return SUBJECT.problem(CHECK, f"They do not run: {told}{_waits(waiting)}", START)
    if waiting:
        return SUBJECT.problem(CHECK, f"They seem not to run.{_waits(waiting)}", START)
    if seen.watches:
        return SUBJECT.ok(CHECK, "They run, as it seems: nobody holds a lease, and somebody watches Clusters.")
    if seen.watches == 0:
        return SUBJECT.problem(CHECK, "They do not run: nobody holds a lease, and nobody watches Clusters.", START)
    why = seen.refused or "nobody holds a lease, and the API does not tell who watches it"
    return SUBJECT.unchecked(CHECK, f"Whether they run cannot be seen: {why.rstrip('.')}.")


def unattended(members: Iterable[Member], now: datetime) -> list[str]:
    """Objects that were made or changed a while ago, and that no controller has looked at since."""
    found = []
    for each in members:
        if each.kind in _MUTE or each.kind.endswith("Template"):
            continue
        observed, generation = each.number("status", "observedGeneration"), each.metadata.generation
        born = each.metadata.creation_timestamp
        new = born is not None and now - born < PATIENCE
        silent = not each.mapping("status") or (
            observed is not None and observed < generation and not _is_told(each, now)
        )
        if silent and not new:
            found.append(each.title)
    return found


def _is_told(member: Member, now: datetime) -> bool:
    """Whether something was said of it lately: then somebody is at work on it."""
    return any(now - each.last_transition_time < PATIENCE for each in member.conditions)


def _waits(titles: list[str]) -> str:
    if not titles:
        return ""
    more = f" and {len(titles) - 1} more objects" if len(titles) > 1 else ""
    return f" Nobody has looked at {titles[0]}{more}."


def _is_fresh(lease: Lease, now: datetime) -> bool:
    try:
        renewed = datetime.fromisoformat(lease.spec.renew_time or "")
    except ValueError:
        return False
    return now - renewed <= timedelta(seconds=lease.spec.lease_duration_seconds or 0)


def _key(lease: Lease) -> str:
    return f"{lease.metadata.namespace}/{lease.metadata.name}"
