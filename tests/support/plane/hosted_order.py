"""What must be so on the computer of hosted control planes when all is at rest: what is declared runs, nothing else
does, and nothing is kept of what is gone."""

from __future__ import annotations

from collections import Counter
from typing import Final

import msgspec

from nagaya.api.controlplane.hosted_arguments import KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER
from nagaya.controlplane.hosted.data_store.etcd_access import ROOT
from nagaya.controlplane.hosted.host.processes import BALANCER
from support.plane.machine_room import ETCD, MachineRoom
from support.plane.scene import Scene
from support.plane.wish import Wish

Programs = frozenset[tuple[str, str]]
_VERSIONED: Final = (KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER)


def hosted_disorder(scene: Scene) -> list[str]:
    """Everything that is not as it must be."""
    wanted = [each for each in scene.wishes.values() if each.hosted]
    room = scene.room
    return [*room.problems, *_of_programs(room, wanted), *_of_folders(room, wanted), *_of_store(room, wanted)]


def declared(wanted: Wish) -> Programs:
    """The programs of a tenant, with the version of those that have one."""
    servers = [f"{KUBE_APISERVER}-{number}" for number in range(wanted.control_planes)]
    names = [*servers, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER]
    found = {(each, wanted.version) for each in names}
    return frozenset(found | ({(BALANCER, "")} if wanted.control_planes > 1 else set()))


def _of_programs(room: MachineRoom, wanted: list[Wish]) -> list[str]:
    found: dict[str, set[tuple[str, str]]] = {}
    stores = 0
    for each in room.programs.values():
        if each.kind == ETCD:
            stores += 1
            continue
        version = each.version if each.kind in _VERSIONED else ""
        found.setdefault(each.owner, set()).add((each.spec.name.partition(".")[2], version))
    runs, shall = Counter(map(frozenset, found.values())), Counter(map(declared, wanted))
    told = [f"programs {_listed(each)} run, and nobody wants them" for each in (runs - shall).elements()]
    told += [f"programs {_listed(each)} are wanted, and do not run" for each in (shall - runs).elements()]
    return [*told, *([f"{stores} stores run"] if stores > 1 else [])]


def _listed(programs: Programs) -> str:
    return ", ".join(f"{name} {version}".rstrip() for name, version in sorted(programs))


def _of_folders(room: MachineRoom, wanted: list[Wish]) -> list[str]:
    folder = room.settings.tenants
    kept = sorted(folder.iterdir()) if folder.is_dir() else []
    told = [f"{len(kept)} folders of tenants for {len(wanted)} tenants"] if len(kept) != len(wanted) else []
    ports = Counter(
        port
        for each in kept
        for port in msgspec.json.decode((each / "ports.json").read_bytes(), type=dict[str, int]).values()
    )
    told += [f"port {port} was given twice" for port, count in ports.items() if count > 1]
    places = room.settings.processes
    names = {each.name for each in places.iterdir() if each.is_dir()} if places.is_dir() else set()
    return told + [f"something is kept of {each}, which does not run" for each in sorted(names - {*room.programs})]


def _of_store(room: MachineRoom, wanted: list[Wish]) -> list[str]:
    store = room.store
    counts = {
        "tenants with keys": len(store.tenants),
        "users": len({*store.users} - {ROOT}),
        "roles": len({*store.roles} - {ROOT}),
    }
    return [
        f"{count} {what} in the store for {len(wanted)} tenants"
        for what, count in counts.items()
        if count != len(wanted)
    ]
