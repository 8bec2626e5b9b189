"""Looks at everything that happens in the plane, as it happens, for what must never be.

Every change of the management API is looked at in its order, and every call that changes something in the data center
before it is made. What must never be:

- an address that two machines have;
- two machines of a control plane that come or go at the same time, unless the cluster goes as a whole;
- a majority of etcd that is lost by what we do: a member removed, or a machine stopped, that the others needed;
- a call that changes a VM, a disk or an image that is not ours.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

from nagaya.api.cluster.labels import CLUSTER_NAME, CONTROL_PLANE
from nagaya.apiserver.storage import Event, Store, Watch
from nagaya.simulators.proxmox.emulator import Proceed
from nagaya.simulators.proxmox.faults.caller import caller_in
from nagaya.simulators.proxmox.faults.faults import api_path
from nagaya.simulators.proxmox.guests.clusters import Cluster, Clusters
from nagaya.simulators.proxmox.request import Answer, Request
from nagaya.simulators.proxmox.state.datacenter import Datacenter
from nagaya.simulators.tenant.etcd.membership import Membership
from support.proxmox_town_layout import TOKEN

MACHINES: Final = "cluster.x-k8s.io/machines"
ADDRESSES: Final = "ipam.cluster.x-k8s.io/ipaddresses"
GOING: Final = ("cluster.x-k8s.io/clusters", "controlplane.cluster.x-k8s.io/kubeadmcontrolplanes")
_VM: Final = re.compile(r"/nodes/[^/]+/qemu/(\d+)(?:/(.*))?")
_VOLUME: Final = re.compile(r"/nodes/[^/]+/storage/[^/]+/content/(?:[^/]*:)?(.+)")


@dataclass(slots=True)
class Watchman:
    """What he has seen so far."""

    store: Store
    datacenter: Datacenter
    clusters: Clusters
    strangers: set[int]
    """VMs that are not ours."""
    problems: list[str] = field(default_factory=list)
    _addresses: dict[str, str] = field(default_factory=dict)
    _machines: dict[str, dict[str, Any]] = field(default_factory=dict)
    _going: set[tuple[str, str]] = field(default_factory=set)
    """Table and key of clusters and control planes that are being deleted."""
    _voters: dict[int, int] = field(default_factory=dict)
    """How many members of etcd vote, by the cluster's number."""
    _watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        self._watch = self.store.watch(None, self.store.revision)

    def look(self) -> None:
        """See what has happened since the last look."""
        while events := self._watch.poll():
            for event in events:
                self._see(event)
        for cluster in self.clusters:
            self._see_members(cluster)

    async def around(self, request: Request, proceed: Proceed) -> Answer:
        """Stand before the emulator: see what is about to be done."""
        path = api_path(request.path)
        if request.method != "GET" and path is not None and caller_in(request.headers) == TOKEN:
            self.look()
            self._see_call(request.method, path)
        return await proceed(request)

    def _tell(self, problem: str) -> None:
        if problem not in self.problems:
            self.problems.append(problem)

    def _see(self, event: Event) -> None:
        if event.table == ADDRESSES:
            self._see_address(event)
        elif event.table in GOING:
            going = event.record is None or bool(event.record.object()["metadata"].get("deletionTimestamp"))
            (self._going.add if going else self._going.discard)((event.table, event.key))
        elif event.table == MACHINES:
            if event.record is None:
                self._machines.pop(event.key, None)
            else:
                machine = event.record.object()
                self._machines[event.key] = machine
                if CONTROL_PLANE in (machine["metadata"].get("labels") or {}):
                    self._see_control_plane(event.key.partition("/")[0], machine["metadata"]["labels"][CLUSTER_NAME])

    def _see_address(self, event: Event) -> None:
        if event.record is None:
            self._addresses.pop(event.key, None)
            return
        address = str(event.record.object()["spec"]["address"])
        for key, other in self._addresses.items():
            if other == address and key != event.key:
                self._tell(f"address {address} was given to {key} and to {event.key}")
        self._addresses[event.key] = address

    def _see_control_plane(self, namespace: str, cluster: str) -> None:
        if self._goes(namespace, cluster):
            return
        moving = [
            key
            for key, each in self._machines.items()
            if CONTROL_PLANE in (labels := each["metadata"].get("labels") or {})
            and labels[CLUSTER_NAME] == cluster
            and (each["metadata"].get("deletionTimestamp") or not (each.get("status") or {}).get("nodeRef"))
        ]
        if len(moving) > 1:
            self._tell(f"control plane machines {', '.join(sorted(moving))} come or go at the same time")

    def _goes(self, namespace: str, cluster: str) -> bool:
        return any((table, f"{namespace}/{cluster}") in self._going for table in GOING)

    def _see_members(self, cluster: Cluster) -> None:
        members = cluster.tenant.etcd.cluster
        if members is None:
            return
        voters, up = _votes(members)
        if voters < self._voters.get(members.id, 0) and up <= voters // 2:
            self._tell(f"a member of etcd was removed, and {up} of the {voters} that are left run: no majority")
        self._voters[members.id] = voters

    def _see_call(self, method: str, path: str) -> None:
        if (found := _VM.fullmatch(path)) is not None:
            vmid, what = int(found[1]), found[2] or ""
            guest = self.datacenter.guests.get(vmid)
            if vmid in self.strangers or (guest is not None and guest.template and what != "clone"):
                self._tell(f"{method} {path} changes what is not ours")
            elif (
                guest is not None
                and guest.running
                and (method == "DELETE" or what in ("status/stop", "status/shutdown"))
            ):
                self._see_stop(f"{method} {path}", str(guest.config.get("name")))
        elif method == "DELETE" and (found := _VOLUME.fullmatch(path)) is not None and "user-data-" not in found[1]:
            owner = re.search(r"(?:vm|base)-(\d+)-", found[1])
            if owner is None or int(owner[1]) in self.strangers:
                self._tell(f"{method} {path} removes what is not ours")

    def _see_stop(self, call: str, name: str) -> None:
        """A machine is about to be stopped. Is its member of etcd needed?"""
        for cluster in self.clusters:
            members = cluster.tenant.etcd.cluster
            member = None if members is None else members.named(name)
            if members is None or member is None or member.learner:
                continue
            owner = next((each for each in self._machines.values() if each["metadata"]["name"] == name), None)
            if owner is None:
                continue
            metadata = owner["metadata"]
            if self._goes(metadata["namespace"], metadata["labels"][CLUSTER_NAME]):
                continue
            voters, up = _votes(members)
            if up > voters // 2 and up - 1 <= voters // 2:
                self._tell(f"{call} stops {name}, whose member of etcd the majority needs ({up} of {voters} run)")


def _votes(members: Membership) -> tuple[int, int]:
    """How many members vote, and how many of those run."""
    voters = [each for each in members.members if not each.learner]
    return len(voters), sum(members.is_up(each) for each in voters)
