"""The answer to "what would happen": objects, machines in order with their hosts, room, and what to doubt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.infrastructure.proxmox.connection.opening import Opener
from nagaya.insight.foresight import doubts
from nagaya.insight.foresight.addresses import PoolNeed, needs, without_address
from nagaya.insight.foresight.change import Change, Verb
from nagaya.insight.foresight.dangling import dangling
from nagaya.insight.foresight.doubts import Doubt, Severity
from nagaya.insight.foresight.landing import HostRoom, Landing, Landings, land
from nagaya.insight.foresight.move import Move
from nagaya.insight.foresight.programs import Absent, lacking
from nagaya.insight.foresight.read import Future, Reader
from nagaya.insight.foresight.rehearsal import Manifest, Rehearsal
from nagaya.insight.foresight.repeated import last_ones
from nagaya.insight.foresight.rollout import Rollout, play
from nagaya.insight.foresight.site import Site, read_site
from nagaya.insight.foresight.unheeded import unheeded
from nagaya.insight.picture.kinds import Kinds
from nagaya.kube.client import Client
from nagaya.world import World

MOST_REPLAYS: Final = 20


@dataclass(frozen=True, slots=True)
class ClusterForecast:
    """What would happen to the machines of one Cluster."""

    namespace: str
    name: str
    before: int
    after: int
    rollout: Rollout
    landings: Mapping[str, Landing] = field(default_factory=dict)
    hosts: tuple[HostRoom, ...] = ()
    pools: tuple[PoolNeed, ...] = ()
    hosts_unknown: str = ""
    """Why it is not known where machines would land; empty if it is, or if they land nowhere."""

    @property
    def moves(self) -> tuple[Move, ...]:
        """Machines that come and go, in order."""
        return self.rollout.moves


@dataclass(frozen=True, slots=True)
class Forecast:
    """All of it."""

    changes: tuple[Change, ...]
    clusters: tuple[ClusterForecast, ...] = ()
    doubts: tuple[Doubt, ...] = ()

    @property
    def changing(self) -> bool:
        """Whether anything would change."""
        moves = any(each.moves for each in self.clusters)
        return moves or any(each.verb in (Verb.CREATE, Verb.CHANGE) for each in self.changes)

    def worst(self) -> Severity | None:
        """The worst doubt; None if there is none."""
        return next((each for each in Severity if any(doubt.severity is each for doubt in self.doubts)), None)

    def document(self) -> dict[str, Any]:
        """For programs."""
        return {
            "changing": self.changing,
            "objects": [_change(each) for each in self.changes],
            "clusters": [_cluster(each) for each in self.clusters],
            "doubts": [
                {"severity": str(each.severity), "what": each.what, "remedy": each.remedy} for each in self.doubts
            ],
        }


async def foresee(
    client: Client,
    world: World,
    kinds: Kinds,
    manifests: Sequence[Manifest],
    namespace: str,
    open: Opener | None = None,
    absent: Absent | None = None,
) -> Forecast:
    """What applying manifests would do. `absent` looks for programs on the controllers' machine, if it is this one.
    Raises what the client does when nothing can be asked at all."""
    rehearsed, repeated = last_ones(manifests, await Rehearsal(client, manifests, namespace).all())
    changes = tuple(each.change for each in rehearsed)
    found = [*doubts.of_changes(changes), *repeated, *unheeded(manifests)]
    found += await dangling(client, kinds, rehearsed)
    if absent is not None:
        found += await lacking(client, rehearsed, absent)
    reader = Reader(client, kinds, rehearsed, world.clock.now())
    clusters = []
    for future in await reader.futures():
        fleet = future.fleet.copy()
        rollout = play(fleet)
        site = await read_site(client, world, reader, fleet, rollout.moves, open) if rollout.moves else None
        cluster, told = foreseen(future, site)
        clusters.append(cluster)
        found += told
    found += [Doubt(Severity.WARNING, each) for each in dict.fromkeys(reader.not_foreseen)]
    order = [*Severity]
    return Forecast(changes, tuple(clusters), tuple(sorted(found, key=lambda each: order.index(each.severity))))


def foreseen(future: Future, site: Site | None) -> tuple[ClusterForecast, list[Doubt]]:
    """The rollout of one Cluster, and what to doubt in it. Pure.

    A machine that no host can have never comes up, and what waits for it stands still: so the rollout is played again
    until no other such machine turns up.
    """
    never: frozenset[str] = frozenset()
    for _ in range(MOST_REPLAYS):
        fleet = future.fleet.copy(never)
        rollout = play(fleet)
        landings = Landings() if site is None else land(site, fleet, rollout.moves)
        dry = frozenset() if site is None else without_address(site, fleet, rollout.moves)
        if landings.homeless | dry <= never:
            break
        never |= landings.homeless | dry
    metadata = fleet.cluster.metadata
    pools = () if site is None else needs(site, fleet, rollout.moves)
    cluster = ClusterForecast(
        metadata.namespace,
        metadata.name,
        len(future.before),
        len(fleet.machines),
        rollout,
        landings.machines,
        landings.hosts,
        pools,
        "" if site is None else site.unknown,
    )
    told = [
        *doubts.of_landings(landings),
        *doubts.of_pools(pools, dry),
        *doubts.of_rollout(future, rollout),  # last, as what stands still often does so for what was told before
    ]
    return cluster, told


def _change(change: Change) -> dict[str, Any]:
    found: dict[str, Any] = {
        "action": str(change.verb),
        "kind": change.kind,
        "namespace": change.namespace,
        "name": change.name,
        "source": change.source,
        "fields": [{"path": each.path, "before": each.before, "after": each.after} for each in change.fields],
        "refusal": change.refusal,
        "note": change.note,
    }
    return {name: value for name, value in found.items() if value}


def _cluster(cluster: ClusterForecast) -> dict[str, Any]:
    found: dict[str, Any] = {
        "namespace": cluster.namespace,
        "name": cluster.name,
        "machines": {"before": cluster.before, "after": cluster.after, "most": cluster.rollout.most},
        "steps": [_move(each, cluster.landings.get(each.machine)) for each in cluster.moves],
        "hosts": [
            {"name": each.name, "online": each.online, "machines": each.machines, "memoryFree": each.memory,
             "memoryFreeLeast": each.least}
            for each in cluster.hosts
        ],
        "hostsUnknown": cluster.hosts_unknown,
        "pools": [
            {"name": each.pool, "free": each.free, "taken": each.taken, "returned": each.returned}
            for each in cluster.pools
        ],
    }  # fmt: skip
    return {name: value for name, value in found.items() if value not in ("", [])}


def _move(move: Move, landing: Landing | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "action": "create" if move.made else "delete",
        "machine": move.machine,
        "owner": move.owner,
        "version": move.version,
        "why": move.why,
    }
    if landing is not None:
        found |= {"host": landing.host, "hostWhy": landing.why, "cpus": landing.cpus, "memory": landing.memory,
                  "disk": landing.disk}  # fmt: skip
    return {name: value for name, value in found.items() if value not in ("", 0)}
