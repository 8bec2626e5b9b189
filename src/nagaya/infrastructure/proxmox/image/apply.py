"""Doing what was planned: hosts beside each other, each for itself.

Whatever ends a run, another goes on from what is there. Within a run the same holds: when a reply is lost, or somebody
was faster, the host is looked at again and its part planned anew, so that nothing is made twice. What fails on one
host is told, and keeps no other from going on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from nagaya.infrastructure.proxmox.client import Proxmox, Upid
from nagaya.infrastructure.proxmox.client.errors import (
    Busy,
    Conflict,
    HostUnreachable,
    Locked,
    NotFound,
    ProxmoxError,
    TaskFailed,
    TaskVanished,
    WrongState,
)
from nagaya.infrastructure.proxmox.image import hardware, marker
from nagaya.infrastructure.proxmox.image.choice import NoChoice
from nagaya.infrastructure.proxmox.image.following import follow
from nagaya.infrastructure.proxmox.image.marker import RETIRED, key_of, marker_of
from nagaya.infrastructure.proxmox.image.observe import observe
from nagaya.infrastructure.proxmox.image.plan import HostPlan, Plan, plan
from nagaya.infrastructure.proxmox.image.remedies import sentence
from nagaya.infrastructure.proxmox.image.seen import Seen
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
from nagaya.infrastructure.proxmox.image.users import Users
from nagaya.infrastructure.proxmox.image.wanted import Wanted

ATTEMPTS: Final = 6
"""How often a host is looked at anew before the run gives it up."""
PAUSE: Final = 3.0
"""Seconds before that: the picture of the cluster is kept for two."""
DOWNLOADS: Final = 4
"""Hosts that download at the same time: they mostly share one line."""
PER_STORAGE: Final = 2
"""Disks that are written at the same time on one storage."""

_NAMED: Final = 2

_GONE: Final = "failed to stat"
"""What Proxmox VE says of an image that is not there any more."""

Tell = Callable[[str, str], None]
"""Told of a host (or of none) and what happens there."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a host's part."""

    host: str
    vmid: int | None = None
    problem: str = ""
    """Why the host does not have the image."""
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a run."""

    hosts: tuple[Outcome, ...]
    notes: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether the image is wherever it should be."""
        return not any(each.problem for each in self.hosts)


@dataclass(frozen=True, slots=True)
class _Failed:
    """Why a host's part could not be done."""

    why: str
    final: bool = False
    """Whether trying again would not help, unless somebody else has done it meanwhile."""


class _NoDownload(Exception):
    """A host could not download the image. Others that wait for the same file hear of it, too."""

    def __init__(self, host: str, error: ProxmoxError) -> None:
        super().__init__(host)
        self.host = host
        self.error = error


class _LookAgain(Exception):
    """The world is not as it was planned for, or it is not known."""


@dataclass(slots=True)
class Run:
    """One run for one image."""

    proxmox: Proxmox
    wanted: Wanted
    tell: Tell
    reserved: frozenset[int] = frozenset()
    """VMIDs that machines of clusters are about to use."""
    users: Users = field(default_factory=Users)
    """Who selects templates, as far as that is known."""
    size: int | None = None
    may_clean: Callable[[str], bool] = lambda _: True
    """Whether files may be removed from a storage."""
    _ids: dict[str, int] = field(default_factory=dict)
    _avoided: set[int] = field(default_factory=set)
    _downloads: dict[tuple[str, str], asyncio.Task[None]] = field(default_factory=dict)
    _there: set[tuple[str, str]] = field(default_factory=set)
    """Places where a download of this run has come to its end."""
    _lines: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(DOWNLOADS))
    _disks: dict[tuple[str, str], asyncio.Semaphore] = field(default_factory=dict)
    _look: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def plan(self, host: str = "") -> Plan:
        """Look and decide. Raises NoChoice, ProxmoxError."""
        others = {vmid for name, vmid in self._ids.items() if name != host}
        avoided = self.reserved | self._avoided | others
        seen = await observe(self.proxmox, self.wanted, avoided=avoided, size=self.size)
        planned = plan(seen, self.wanted)
        return replace(planned, notes=(*planned.notes, *self._torn(seen)))

    def _torn(self, seen: Seen) -> Iterator[str]:
        """What is said of selectors that do not tell the image from other templates."""
        for vmids, found in self.users.torn(frozenset(self.wanted.image.tags), seen.templates).items():
            who = sorted(found, key=lambda each: each.startswith("ProxmoxMachine "))  # those are made already
            more = f" and {len(who) - _NAMED} more" if len(who) > _NAMED else ""
            yield (
                f"{', '.join(who[:_NAMED])}{more} would find this image beside {', '.join(map(str, vmids))}: have "
                f"matchTags say which is meant (this one has {', '.join(self.wanted.image.tags)}), or new machines "
                "wait."
            )

    async def apply(self, planned: Plan) -> Result:
        """Do it. Raises ProxmoxError only for what concerns all hosts."""
        if planned.enable is not None:
            await self._enable(planned.enable)
        for each in planned.hosts:
            if each.vmid is not None:
                self._ids[each.host] = each.vmid
        try:
            outcomes = await asyncio.gather(*(self._host(each, planned) for each in planned.hosts))
        finally:
            for task in self._downloads.values():
                task.cancel()
            await asyncio.gather(*self._downloads.values(), return_exceptions=True)
        notes = [*planned.notes]
        if not any(each.problem and not _is_off(planned, each.host) for each in outcomes):
            notes += [note for step in planned.cleanup if (note := await self._clean(step))]
        elif kept := self._kept(planned):
            notes.append(f"The file that was downloaded stays for the next run: {', '.join(kept)}.")
        return Result(tuple(outcomes), tuple(notes))

    def _kept(self, planned: Plan) -> list[str]:
        """The files that would have been removed at the end, less those whose download failed."""
        failed = {(each.host, each.storage.name) for each in planned.downloads if each.place not in self._there}
        return [each.volume for each in planned.cleanup if (each.host, each.storage) not in failed]

    async def _enable(self, step: EnableImport) -> None:
        self.tell("", str(step))
        await self.proxmox.storages.allow(step.storage, step.contents)

    async def _host(self, part: HostPlan, planned: Plan) -> Outcome:
        host, changed, problem = part.host, False, ""
        for _ in range(ATTEMPTS):
            if part.done or part.waits:
                break
            changed = True
            failed = await self._attempt(part, planned)
            if failed is None:
                return Outcome(host, part.vmid, changed=True)
            problem = failed.why
            await asyncio.sleep(PAUSE)
            try:
                planned, part = await self._anew(part)
            except (ProxmoxError, NoChoice):
                return Outcome(host, part.vmid, problem, changed)
            if failed.final and not part.done:
                return Outcome(host, part.vmid, problem, changed)
        if part.done:
            return Outcome(host, part.vmid, changed=changed)
        why = part.why if part.waits else problem
        return Outcome(host, part.vmid, why or "it is still not as it should be: run this again.", changed)

    async def _attempt(self, part: HostPlan, planned: Plan) -> _Failed | None:
        """Do a host's part. None: it is done."""
        try:
            if part.download is not None:
                await self._downloaded(part.download, planned)
            for step in part.steps:
                await self._do(step)
        except _LookAgain as again:
            return _Failed(str(again))
        except _NoDownload as failed:
            return self._without_download(failed, part, planned)
        except ProxmoxError as error:
            if part.download is not None and (task := self._downloads.get(part.download)) is not None and task.done():
                del self._downloads[part.download]  # somebody may have removed the file
            return _Failed(sentence(error, self.wanted.image, part.host), not _passes(error))
        return None

    def _without_download(self, failed: _NoDownload, part: HostPlan, planned: Plan) -> _Failed:
        """The whole of it is told once: of the host that was to download."""
        if part.download is not None:
            self._downloads.pop(part.download, None)
        final = not _passes(failed.error)
        if failed.host != part.host and planned.of(failed.host) is not None:
            return _Failed(f"it waits for the image, which {failed.host} could not download: see there.", final)
        return _Failed(sentence(failed.error, self.wanted.image, failed.host), final)

    async def _anew(self, part: HostPlan) -> tuple[Plan, HostPlan]:
        """A host's part as it is now. Raises NoChoice, ProxmoxError."""
        async with self._look:
            planned = await self.plan(part.host)
            found = planned.of(part.host) or HostPlan(part.host, why="another host has it", vmid=part.vmid)
            if found.vmid is not None:
                self._ids[part.host] = found.vmid
            return planned, found

    async def _downloaded(self, place: tuple[str, str], planned: Plan) -> None:
        """Hosts that see the same files wait for one download; when it failed, the next to ask tries once more."""
        task = self._downloads.get(place)
        if task is None or (task.done() and (task.cancelled() or task.exception() is not None)):
            step = next(each for each in planned.downloads if each.place == place)
            task = self._downloads[place] = asyncio.ensure_future(self._download(step))
        await asyncio.shield(task)

    async def _download(self, step: Download) -> None:
        async with self._lines:
            self.tell(step.host, str(step))
            try:
                upid = await self._begun(step) if step.underway is None else step.underway.upid
                await follow(self.proxmox, upid, lambda far: self.tell(step.host, f"download: {far}%"))
            except ProxmoxError as error:
                raise _NoDownload(step.host, error) from error
            self._there.add(step.place)

    async def _begun(self, step: Download) -> Upid:
        image = self.wanted.image
        return await self.proxmox.storages.download(
            step.host,
            step.storage.name,
            "import",
            image.url,
            image.file,
            checksum=image.checksum.digest,
            algorithm=image.checksum.algorithm,
            verify=self.wanted.verify,
        )

    async def _do(self, step: Step) -> None:
        self.tell(step.host, str(step))
        proxmox, host = self.proxmox, step.host
        match step:
            case Follow(underway=underway):
                try:
                    await follow(proxmox, underway.upid, lambda far: self.tell(host, f"{underway.type}: {far}%"))
                except TaskFailed as error:
                    raise _LookAgain(str(error)) from error
                raise _LookAgain(f"the task {underway.upid} has ended")
            case Create():
                await self._create(step)
            case MakeTemplate(vmid=vmid):
                await self._check(host, vmid)
                await follow(proxmox, await proxmox.machines.template(host, vmid), _silent)
            case Retire(vmid=vmid):
                await self._tag(host, vmid, (RETIRED,), any_image=True)
            case Tag(vmid=vmid, tags=tags):
                await self._tag(host, vmid, tags)

    async def _create(self, step: Create) -> None:
        if not await self.proxmox.cluster.is_free(step.vmid):
            self._avoided.add(step.vmid)
            self._ids.pop(step.host, None)
            raise _LookAgain(f"somebody else has taken VMID {step.vmid}")
        image = self.wanted.image
        made = f"{self.proxmox.calls.world.clock.now():%Y-%m-%dT%H:%M:%SZ}"
        options = hardware.options(
            step, image, self.wanted.hardware, marker_of(image, step.vmid, made, self.wanted.pool)
        )
        place = (step.host, step.storage)
        async with self._disks.setdefault(place, asyncio.Semaphore(PER_STORAGE)):
            upid = await self.proxmox.machines.create(step.host, step.vmid, options, pool=self.wanted.pool)
            await follow(self.proxmox, upid, lambda far: self.tell(step.host, f"copy to {step.storage}: {far}%"))

    async def _check(self, host: str, vmid: int, *, any_image: bool = False) -> str:
        """That it is still ours, on a fresh read; its digest, by which a change is refused if it no longer is."""
        try:
            config = await self.proxmox.machines.config(host, vmid)
        except NotFound:
            raise _LookAgain(f"machine {vmid} is gone from {host}") from None
        found = marker.read(config.get("description"), vmid)
        if found is None or (not any_image and found.key != key_of(self.wanted.image)):
            self._avoided.add(vmid)
            raise _LookAgain(f"machine {vmid} on {host} is not the one that was made")
        return config.digest

    async def _tag(self, host: str, vmid: int, tags: tuple[str, ...], *, any_image: bool = False) -> None:
        digest = await self._check(host, vmid, any_image=any_image)
        await self.proxmox.machines.configure(host, vmid, {"tags": ";".join(tags)}, digest=digest)

    async def _clean(self, step: RemoveFile) -> str:
        if not self.may_clean(step.storage):
            return (
                f"{step.volume} stays, as removing it needs Datastore.Allocate on /storage/{step.storage}. Nothing "
                "uses it any more."
            )
        self.tell(step.host, str(step))
        try:
            await follow(self.proxmox, await self.proxmox.storages.delete(step.host, step.volume), _silent)
        except ProxmoxError as error:
            if isinstance(error, NotFound) or "No such file" in str(error):
                return ""
            return f"{step.volume} could not be removed: {error} The next run tries again."
        return ""


def _passes(error: ProxmoxError) -> bool:
    """Whether another look can help: a reply was lost, or somebody else is at work on the same."""
    if isinstance(error, TaskFailed):
        return _GONE in error.exitstatus or (error.because is not None and _passes(error.because))
    if isinstance(error, NotFound):
        return error.what in ("machine", "volume")
    return isinstance(error, HostUnreachable | Conflict | TaskVanished | Busy | WrongState | Locked)


def _silent(_: int) -> None:
    """Nobody has to know how far it is."""


def _is_off(planned: Plan, host: str) -> bool:
    part = planned.of(host)
    return part is not None and part.waits
