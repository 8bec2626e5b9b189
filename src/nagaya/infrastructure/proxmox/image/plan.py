"""What has to be done for an image to be a template wherever it is wanted. Pure: same sight, same plan.

What always holds:

- A template gets its tags last, so a selector finds none that is unfinished; and the older one that had the same tags
  loses them just before, as two with the same tags on one host would tell nobody which is meant.
- What is there already is never made again; what is unfinished is finished.
- A host that cannot be used now keeps no other from being done, and has a sentence that says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nagaya.infrastructure.proxmox.image.choice import IMPORT, Choice, NoChoice, choose
from nagaya.infrastructure.proxmox.image.marker import key_of
from nagaya.infrastructure.proxmox.image.seen import Seen, Template
from nagaya.infrastructure.proxmox.image.steps import (
    Create,
    Download,
    EnableImport,
    Follow,
    MakeTemplate,
    RemoveFile,
    Retire,
    Step,
    Tag,
)
from nagaya.infrastructure.proxmox.image.wanted import Wanted


@dataclass(frozen=True, slots=True)
class HostPlan:
    """What is done for one host."""

    host: str
    steps: tuple[Step, ...] = ()
    download: tuple[str, str] | None = None
    """The place of the download that has to be there first."""
    vmid: int | None = None
    """Of the template, as far as that can be known before."""
    why: str = ""
    """Why there is nothing to do."""
    waits: bool = False
    """Whether something should be done and cannot be, now; `why` says why."""

    @property
    def done(self) -> bool:
        """Whether the host has all that it should."""
        return not self.steps and not self.waits


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done in all."""

    storage: str
    shared: bool
    hosts: tuple[HostPlan, ...]
    downloads: tuple[Download, ...] = ()
    enable: EnableImport | None = None
    cleanup: tuple[RemoveFile, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether all is as it should be."""
        return all(each.done for each in self.hosts) and not self.cleanup and self.enable is None

    def of(self, host: str) -> HostPlan | None:
        """The part of one host."""
        return next((each for each in self.hosts if each.host == host), None)


def plan(seen: Seen, wanted: Wanted) -> Plan:
    """Decide. Raises NoChoice."""
    chosen = choose(seen, wanted)
    targets = _targets(seen, wanted, chosen)
    free = iter(each for each in wanted.vmids if each not in seen.taken)
    hosts: list[HostPlan] = []
    downloads: dict[tuple[str, str], Download] = {}
    for host in targets:
        made = _of_host(seen, wanted, chosen, host, free)
        hosts.append(made)
        if made.download is not None and made.download not in downloads:
            downloads[made.download] = _download(seen, wanted, chosen, host)
    enable = None
    if chosen.enables is not None and downloads:
        enable = EnableImport(chosen.enables.name, chosen.enables.contents | {IMPORT})
    return Plan(
        chosen.storage,
        chosen.shared,
        tuple(hosts),
        tuple(downloads.values()),
        enable,
        _cleanup(seen, wanted, downloads),
        tuple(_notes(seen, wanted, targets)),
    )


def _targets(seen: Seen, wanted: Wanted, chosen: Choice) -> tuple[str, ...]:
    """The hosts that need a template of their own; where all see the same disks, one does."""
    if not chosen.shared:
        return chosen.hosts
    copies = [each for each in _copies(seen, wanted) if chosen.storage in each.storages and each.host in seen.hosts]
    copies.sort(key=lambda each: (not _finished(each, wanted), each.vmid))
    if copies:
        return (copies[0].host,)
    able = [each for each in chosen.hosts if seen.hosts[each] and each not in chosen.without]
    return tuple(able[:1]) or chosen.hosts[:1]


def _of_host(seen: Seen, wanted: Wanted, chosen: Choice, host: str, free: Iterator[int]) -> HostPlan:
    if not seen.hosts[host]:
        return HostPlan(host, why=f"{host} is off: run this again when it is back.", waits=True)
    copies = [each for each in _copies(seen, wanted) if each.host == host]
    copies.sort(key=lambda each: (not _finished(each, wanted), not each.template, each.vmid))
    if copies:
        return _with_copy(seen, wanted, host, copies[0])
    if host in chosen.without:
        return HostPlan(host, why=f"{chosen.without[host]}: see to that, and run this again.", waits=True)
    making = [each for each in seen.underway if each.host == host and each.type == "qmcreate"]
    if making:
        return HostPlan(host, (Follow(host, making[0]),), vmid=int(making[0].id))
    source = chosen.imports[host]
    present = (source.place, wanted.image.file) in seen.files
    if not present and seen.size is not None and source.free < seen.size:
        why = (
            f"storage {source.name} on {host} has {_gib(source.free)} free, and the image needs {_gib(seen.size)}: "
            "make room, or choose another with --import-storage."
        )
        return HostPlan(host, why=why, waits=True)
    vmid = next(free, None)
    if vmid is None:
        why = f"no VMID from {wanted.vmids[0]} to {wanted.vmids[-1]} is free: give another --vmid-range."
        return HostPlan(host, why=why, waits=True)
    volume = f"{source.name}:import/{wanted.image.file}"
    steps = (
        Create(host, vmid, chosen.storage, volume, wanted.image.name),
        MakeTemplate(host, vmid),
        *_last(seen, wanted, host, vmid),
    )
    return HostPlan(host, steps, source.place, vmid)


def _with_copy(seen: Seen, wanted: Wanted, host: str, copy: Template) -> HostPlan:
    """A host that has the image, ready or not."""
    running = next((each for each in seen.underway if each.host == host and each.id == str(copy.vmid)), None)
    if running is not None:
        return HostPlan(host, (Follow(host, running),), vmid=copy.vmid)
    if copy.lock:
        why = (
            f"machine {copy.vmid} on {host} is unfinished and locked ({copy.lock}), and nothing is at work on it: run "
            f"`qm unlock {copy.vmid}` there, then this again."
        )
        return HostPlan(host, vmid=copy.vmid, why=why, waits=True)
    if not copy.template and copy.running:
        why = f"somebody started machine {copy.vmid} on {host}, which is to become the template: stop it first."
        return HostPlan(host, vmid=copy.vmid, why=why, waits=True)
    steps: tuple[Step, ...] = ()
    if not copy.template:
        steps = (MakeTemplate(host, copy.vmid),)
    if steps or not _finished(copy, wanted):
        return HostPlan(host, (*steps, *_last(seen, wanted, host, copy.vmid)), vmid=copy.vmid)
    steps = tuple(Retire(host, each) for each in _alike(seen, wanted, host, copy.vmid))
    return HostPlan(host, steps, vmid=copy.vmid, why=f"{host} has it: template {copy.vmid}.")


def _last(seen: Seen, wanted: Wanted, host: str, vmid: int) -> tuple[Step, ...]:
    retired = (Retire(host, each) for each in _alike(seen, wanted, host, vmid))
    return (*retired, Tag(host, vmid, wanted.image.tags))


def _copies(seen: Seen, wanted: Wanted) -> list[Template]:
    key = key_of(wanted.image)
    return [each for each in seen.ours() if each.marker is not None and each.marker.key == key]


def _finished(copy: Template, wanted: Wanted) -> bool:
    return copy.template and copy.tags == frozenset(wanted.image.tags)


def _alike(seen: Seen, wanted: Wanted, host: str, vmid: int) -> list[Template]:
    """Ours on a host that selectors could take for this one."""
    tags = frozenset(wanted.image.tags)
    return [each for each in seen.ours() if each.host == host and each.vmid != vmid and each.tags == tags]


def _download(seen: Seen, wanted: Wanted, chosen: Choice, host: str) -> Download:
    storage, image = chosen.imports[host], wanted.image
    running = [each for each in seen.underway if each.type == "download" and each.id == image.file]
    same = [
        each
        for each in running
        if (found := seen.storage(each.host, storage.name)) is not None and found.place == storage.place
    ]
    where = same[0].host if same else host
    return Download(where, storage, image.file, image.shown_url, same[0] if same else None)


def _cleanup(seen: Seen, wanted: Wanted, downloads: dict[tuple[str, str], Download]) -> tuple[RemoveFile, ...]:
    if wanted.keep_file:
        return ()
    steps = {place: RemoveFile(each.host, each.storage.name, each.file) for place, each in downloads.items()}
    for place, file in sorted(seen.files):
        if place in steps or file != wanted.image.file:
            continue
        on = [each.host for each in seen.storages if each.place == place and each.available and seen.hosts[each.host]]
        if on:
            steps[place] = RemoveFile(min(on), place[1], file)
    return tuple(steps.values())


def _notes(seen: Seen, wanted: Wanted, targets: tuple[str, ...]) -> list[str]:
    tags = frozenset(wanted.image.tags)
    return [
        f"Template {each.vmid} ({each.name}) on {each.host}, which Nagaya did not make, has the same tags: machines "
        "that select them are not placed there until one of the two has others."
        for each in seen.templates
        if each.read and each.marker is None and each.template and each.tags == tags and each.host in targets
    ]


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"


__all__ = ["HostPlan", "NoChoice", "Plan", "plan"]
