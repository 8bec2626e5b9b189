"""A world of plain values that the steps of plans change, for the life of one machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, cast

import msgspec

from nagaya.api.ipam.ip_address import IP_ADDRESSES
from nagaya.api.ipam.ip_address_claim import IP_ADDRESS_CLAIMS
from nagaya.api.proxmox.proxmox_cluster import PROXMOX_CLUSTERS
from nagaya.api.proxmox.proxmox_machine import FINALIZER, PROXMOX_MACHINES
from nagaya.api.proxmox.proxmox_virtual_machine import PROXMOX_VIRTUAL_MACHINES, NamespacedConnectionReference
from nagaya.infrastructure.proxmox.client import Phase, Proxmox, Snapshot, TaskState, upid
from nagaya.infrastructure.proxmox.client.high_availability import HaResource
from nagaya.infrastructure.proxmox.client.machine_config import MachineConfig
from nagaya.infrastructure.proxmox.client.rows import Host, MachineRow, Status, StorageRow
from nagaya.infrastructure.proxmox.machine import steps
from nagaya.infrastructure.proxmox.machine.plan import plan
from nagaya.infrastructure.proxmox.machine.seen import Guest, Managed, Objects, Seen
from nagaya.infrastructure.proxmox.machine.status import status
from nagaya.infrastructure.proxmox.machine.steps import Plan
from nagaya.infrastructure.proxmox.machine.wish import world
from nagaya.infrastructure.proxmox.virtual_machine import removal
from nagaya.infrastructure.proxmox.virtual_machine.found import Found, Presence
from nagaya.infrastructure.proxmox.virtual_machine.link import Link
from support.builders import NOW, date
from support.builders import cluster as cluster_draft
from support.builders import machine as machine_draft

GIB = 1 << 30
UUID = "0b0e1f6c-7d5c-4c58-9d35-5a1f1d1f0a01"
TEMPLATE = MachineConfig(
    {"name": "debian", "scsi0": "local-lvm:base-9001-disk-0,size=20G", "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"}
)
UPIDS = {steps.CloneTemplate: "qmclone", steps.Resize: "resize", steps.Upload: "imgcopy", steps.Start: "qmstart"}


@dataclass
class World:
    """What there is, changed by the steps of plans."""

    objects: Objects
    found: Found | None = None
    task: TaskState | None = None
    guest: Guest | None = None
    leftovers: tuple[str, ...] = ()
    online: bool = True
    seconds: float = 0
    failures: int = 0
    uploads: bool = True
    managed: Managed | None = None
    erased: bool | None = None
    fail: dict[type, str] = field(default_factory=dict)
    """Steps whose task fails once, and with what."""
    lines: list[str] = field(default_factory=list)

    def seen(self) -> Seen:
        host = Host("pve1", self.online, cpus=8, memory=32 * GIB)
        row = MachineRow(9001, "pve1", Status.STOPPED, template=True, tags=("debian",), cpus=2, memory=2 * GIB)
        storages = [
            StorageRow("local-lvm", "pve1", True, False, contents=frozenset({"images"}), total=500 * GIB),
            StorageRow("local", "pve1", True, False, contents=frozenset({"iso"}), total=100 * GIB),
        ]
        now = NOW + timedelta(seconds=self.seconds)
        snapshot = Snapshot(
            now,
            self.seconds,
            hosts={"pve1": host},
            machines={9001: row},
            storages={(each.node, each.name): each for each in storages},
        )
        infrastructure = self.objects.infrastructure
        assert infrastructure is not None
        # Nothing here asks it anything.
        named = NamespacedConnectionReference(namespace="fleet", name="c")
        link = Link(cast(Proxmox, None), "demo", named, pool="k8s", uploads=self.uploads)
        return Seen(
            self.objects, now, link, "", snapshot, self.found, self.leftovers, self.task, self.guest,
            world(snapshot, infrastructure, {9001: TEMPLATE}, {}), (), self.failures,
            erased=self.erased, managed=self.managed,
        )  # fmt: skip

    def step(self) -> Plan:
        """One look, one plan, one step."""
        seen = self.seen()
        made = plan(seen)
        said = made.deleting or made.made
        step = type(made.step).__name__ if made.step is not None else "-"
        self.lines.append(f"{self.seconds:6.0f} s  {step:18} {said.reason}: {said.message}".rstrip())
        if made.failed:
            self.failures += 1
        task = self._apply(made)
        told = status(seen, self.objects.machine, made, task)
        self.objects = replace(self.objects, machine=msgspec.structs.replace(self.objects.machine, status=told))
        return made

    def run(self, until: Callable[[Plan], bool], limit: int = 60) -> str:
        """Steps until something holds. Time passes only where it is waited."""
        for _ in range(limit):
            made = self.step()
            if until(made):
                return "\n".join(self.lines) + "\n"
            if self.task is not None and not self.task.ended:
                self.seconds += 5
                self._end_task()
            elif made.step is None and not made.hold:
                self.seconds += made.again_after or 1
        raise AssertionError("\n".join(self.lines))

    def _end_task(self) -> None:
        assert self.task is not None
        kind = next((each for each, name in UPIDS.items() if name == self.task.upid.type), None)
        if kind is not None and (why := self.fail.pop(kind, "")):
            self.task = replace(self.task, phase=Phase.FAILED, exitstatus=why, log=("line one", f"TASK ERROR: {why}"))
            if kind is steps.CloneTemplate:
                self.found = Found(Presence.ABSENT, "pve1")
            return
        self.task = replace(self.task, phase=Phase.SUCCEEDED, exitstatus="OK")

    def _config(self, **options: str) -> None:
        assert self.found is not None
        config = MachineConfig({**self.found.config.options, **options}, f"digest{self.seconds}")
        self.found = replace(self.found, config=config)

    def _begin(self, kind: str) -> str:
        text = f"UPID:pve1:0000ABCD:00112233:{int(NOW.timestamp() + self.seconds):08X}:{kind}:100:root@pam:"
        self.task = TaskState(upid(text), Phase.RUNNING)
        return text

    def _apply(self, made: Plan) -> str:
        if made.hold:
            self._machine(metadata={"finalizers": [FINALIZER]})
        if made.clear_task:
            self.task = None
        match made.step:
            case steps.Reserve(pool):
                whose = {"namespace": "fleet", "name": "a", "uid": "u-1"}
                spec = {
                    "datacenter": "demo", "vmid": 100, "machineRef": whose, "name": "a", "pool": pool,
                    "connectionRef": {"namespace": "fleet", "name": "c"},
                }  # fmt: skip
                made_now = {"name": "demo-100", "creationTimestamp": date(NOW)}
                reservation = PROXMOX_VIRTUAL_MACHINES.convert({"metadata": made_now, "spec": spec})
                self.objects = replace(self.objects, reservation=reservation)
                self.found = Found(Presence.ABSENT)
            case steps.CloneTemplate():
                options = {**TEMPLATE.options, "name": "a", "smbios1": f"uuid={UUID}", "agent": "enabled=1"}
                self.found = Found(Presence.OURS, "pve1", MachineConfig(options, "digest"))
                return self._begin("qmclone")
            case steps.Name(vmid, provider_id):
                self._machine(spec={"virtualMachineID": vmid, "providerID": provider_id})
            case steps.Configure(_, change, _):
                self._config(**{name: str(value) for name, value in change.options.items()})
            case steps.Resize(_, disk, size):
                self._config(**{disk: f"local-lvm:vm-100-disk-0,size={size}"})
                return self._begin("resize")
            case steps.ClaimAddresses(claims):
                made_claims, addresses = {}, {}
                for number, each in enumerate(claims):
                    pool_ref = {"name": each.pool.name, "kind": each.pool.kind, "apiGroup": each.pool.api_group}
                    named = {"name": each.name}
                    made_claims[each.name] = IP_ADDRESS_CLAIMS.convert(
                        {"metadata": named, "spec": {"poolRef": pool_ref}}
                    )
                    given = {"address": f"10.0.0.{10 + number}", "prefix": 24, "gateway": "10.0.0.1"}
                    spec = {"claimRef": {"name": each.name}, "poolRef": pool_ref, **given}
                    addresses[each.name] = IP_ADDRESSES.convert({"metadata": named, "spec": spec})
                self.objects = replace(self.objects, claims=made_claims, addresses=addresses)
            case steps.Upload():
                self.leftovers = ("local:iso/user-data-100.iso",)
                return self._begin("imgcopy")
            case steps.Attach(_, slot, volume, _):
                self._config(**{slot: f"{volume},media=cdrom"})
            case steps.HandOver():
                self.guest = Guest(True, cloud_init="done", instance=UUID)
                self.erased = False
            case steps.Erase():
                self.erased = True
            case steps.Manage():
                self.managed = Managed(HaResource(100))
            case steps.Start():
                assert self.found is not None
                if steps.Start not in self.fail:
                    self.found = replace(self.found, running=True, state="running")
                self.guest = Guest(True, cloud_init="done")
                return self._begin("qmstart")
            case steps.Eject(_, slots, _):
                self._config(**dict.fromkeys(slots, "none,media=cdrom"))
                self.leftovers = ()
            case steps.Remove(removal.Stop()):
                assert self.found is not None
                self.found = replace(self.found, running=False)
                return self._begin("qmstop")
            case steps.Remove(removal.Destroy()):
                self.found = Found(Presence.ABSENT, "pve1")
                return self._begin("qmdestroy")
            case steps.Remove(removal.RemoveVolume()):
                self.leftovers = ()
                return self._begin("imgdel")
            case steps.GiveUpReservation():
                self.objects = replace(self.objects, reservation=None)
                known = self.objects.machine.spec.virtual_machine_id is not None
                self.found = Found(Presence.ABSENT, "pve1") if known else None
            case steps.LeaveToReaper():
                assert self.objects.reservation is not None
                self.objects = replace(self.objects, reservation=_orphaned(self.objects.reservation))
            case steps.ReleaseClaims():
                self.objects = replace(self.objects, claims={}, addresses={})
        return ""

    def _machine(self, **parts: Any) -> None:
        content = msgspec.to_builtins(self.objects.machine)
        for name, more in parts.items():
            content[name] = {**content.get(name, {}), **more}
        self.objects = replace(self.objects, machine=PROXMOX_MACHINES.convert(content))

    def delete(self) -> None:
        self._machine(metadata={"deletionTimestamp": date(NOW)})

    def node_joined(self) -> None:
        owner = machine_draft("a").having(status={"nodeRef": {"name": "a"}}).made()
        self.objects = replace(self.objects, owner=owner)


def _orphaned(reservation: Any) -> Any:
    content = msgspec.to_builtins(reservation)
    return PROXMOX_VIRTUAL_MACHINES.convert({**content, "status": {"phase": "Orphaned", "node": "pve1"}})


def beginning(**spec: Any) -> World:
    """A machine that could be made: everything that it waits for is there."""
    labels = {"cluster.x-k8s.io/cluster-name": "c"}
    metadata = {"namespace": "fleet", "name": "a", "uid": "u-1", "labels": labels}
    wished = {
        "templateSelector": {"matchTags": ["debian"]},
        "memoryMiB": 4096,
        "disks": {"bootVolume": {"disk": "scsi0", "sizeGb": 40}},
        **spec,
    }
    pools = [{"zone": "default", "inClusterIPPoolRefV4": {"name": "c-v4-icip"}}]
    infrastructure = PROXMOX_CLUSTERS.convert(
        {
            "metadata": {"namespace": "fleet", "name": "c"},
            "spec": {"dnsServers": ["10.0.0.1"]},
            "status": {"inClusterZoneRef": pools},
        }
    )
    ready = {"initialization": {"infrastructureProvisioned": True}}
    return World(
        Objects(
            PROXMOX_MACHINES.convert({"metadata": metadata, "spec": wished}),
            machine_draft("a").having(spec={"bootstrap": {"dataSecretName": "d"}}).made(),
            cluster_draft().having(status=ready).made(),
            infrastructure,
            None,
        )
    )
