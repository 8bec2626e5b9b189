"""A forecast on paper: objects, then of each Cluster its machines in order, its hosts and pools, and what to doubt."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from nagaya.cli.output.sentence import Line, sentence
from nagaya.cli.output.table import Table
from nagaya.infrastructure.proxmox.placement.amounts import gib
from nagaya.insight.foresight.change import Verb
from nagaya.insight.foresight.doubts import Severity

if TYPE_CHECKING:
    from nagaya.insight.foresight.change import Change
    from nagaya.insight.foresight.forecast import ClusterForecast, Forecast
    from nagaya.insight.foresight.landing import Landing

_INDENT: Final = "  "
_SPARE: Final = ("DISK", "MEMORY", "CPUS", "OF", "VERSION")
"""Columns that a narrow terminal goes without, the first before the others."""
_MARKS: Final = {Verb.CREATE: "+", Verb.CHANGE: "~", Verb.KEEP: "=", Verb.REFUSE: "!"}
_STYLES: Final = {Verb.CREATE: "green", Verb.CHANGE: "yellow", Verb.KEEP: "bright_black", Verb.REFUSE: "bold red"}
_WORDS: Final = {Verb.CREATE: "created", Verb.CHANGE: "changed", Verb.KEEP: "as they are", Verb.REFUSE: "refused"}


def told(found: Forecast, width: int | None) -> Iterator[Line]:
    """The whole answer. Without a width, in a pipe, nothing is folded."""
    for change in found.changes:
        yield from _change(change, width)
    yield "", ""
    yield from told_of_machines(found, width)
    yield _ending(found)


def told_of_machines(found: Forecast, width: int | None) -> Iterator[Line]:
    """What becomes of machines, and what to doubt."""
    for cluster in found.clusters:
        yield from _cluster(cluster, width)
    for doubt in found.doubts:
        style = "bold red" if doubt.severity is Severity.ERROR else "bold yellow"
        yield from sentence(f"{doubt.severity}  ", doubt.what, width, style)
        if doubt.remedy:
            yield from sentence(f"{'fix':<{len(doubt.severity)}}  ", doubt.remedy, width, "green")
    if found.doubts:
        yield "", ""


def _change(change: Change, width: int | None) -> Iterator[Line]:
    yield f"{_MARKS[change.verb]} {change.title}", _STYLES[change.verb]
    for each in change.fields:
        before = "(none)" if each.before is None else each.before
        after = "(none)" if each.after is None else each.after
        yield from sentence(f"    {each.path}: ", f"{before} -> {after}", width)


def _cluster(cluster: ClusterForecast, width: int | None) -> Iterator[Line]:
    made = sum(each.made for each in cluster.moves)
    gone = len(cluster.moves) - made
    title = f"Cluster {cluster.namespace}/{cluster.name}"
    if not cluster.moves:
        yield f"{title}: no machine comes or goes ({cluster.before} are there).", "bold"
        yield "", ""
        return
    said = (
        f"{title}: {cluster.before} -> {cluster.after} machines; {made} made, {gone} deleted, in this order "
        f"(at most {cluster.rollout.most} at a time):"
    )
    yield from sentence("", said, width, "bold")
    header = ("", "MACHINE", "OF", "VERSION")
    table = Table((*header, "HOST", "CPUS", "MEMORY", "DISK") if cluster.landings else header)
    for number, move in enumerate(cluster.moves, 1):
        cells = (f"{number:>3}. {'+' if move.made else '-'}", move.machine, move.owner, move.version or "-")
        table.add(*cells, *(_landing(cluster.landings.get(move.machine), made=move.made) if cluster.landings else ()))
    if width is not None:
        table = table.within(width - len(_INDENT), _SPARE)
    for line in table.plain().splitlines():
        yield f"{_INDENT}{line}", ""
    yield "", ""
    if cluster.hosts_unknown:
        yield from sentence("  ", f"Hosts are not known: {cluster.hosts_unknown.rstrip('.')}.", width, "yellow")
    for host in cluster.hosts:
        off = "" if host.online else ", off"
        said = (
            f"host {host.name}{off}: {host.machines} of the new machines, {gib(host.memory)} memory free now, "
            f"{gib(host.least)} at the fullest moment"
        )
        yield from sentence("  ", said, width)
    for pool in cluster.pools:
        free = "an unknown number of" if pool.free is None else str(pool.free)
        said = f"pool {pool.pool}: {free} addresses free now, {pool.taken} taken, {pool.returned} given back"
        yield from sentence("  ", said, width)
    if cluster.hosts_unknown or cluster.hosts or cluster.pools:
        yield "", ""


def _landing(landing: Landing | None, *, made: bool) -> tuple[str, str, str, str]:
    if landing is None:
        return ("-", "", "", "")
    where = landing.host or ("none" if landing.missing else "?")
    return (where, str(landing.cpus), gib(landing.memory), gib(landing.disk)) if made else (where, "", "", "")


def _ending(found: Forecast) -> Line:
    counts = [(verb, sum(each.verb is verb for each in found.changes)) for verb in Verb]
    objects = ", ".join(f"{number} {_WORDS[verb]}" for verb, number in counts if number)
    made = sum(each.made for cluster in found.clusters for each in cluster.moves)
    gone = sum(not each.made for cluster in found.clusters for each in cluster.moves)
    bad = found.worst()
    said = f"Objects: {objects}. Machines: {made} made, {gone} deleted."
    if bad is Severity.ERROR:
        return f"{said} It would not come to a good end: see the errors above.", "bold red"
    return (f"{said} Nothing has been changed.", "bold green") if found.changing else (
        "Nothing would change.", "bold green"
    )  # fmt: skip
