"""The steps of a move, each of which may be the last: the same command goes on where it ended.

    pause at the source -> wait until all say so -> make at the target, paused -> look whether all is there
    -> take away at the source -> let go on at the target

Where a move stands is written nowhere but in the objects: Clusters say that they are being moved and whereto, objects
at the target say what they were at the source. What the source still has is made and compared again; what it has no
longer is at the target, or it would not have been taken away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.definition import CLUSTERCTL_LABEL, DELETE_FOR_MOVE
from nagaya.api.ipam.group import SKIP_VALIDATE_DELETE
from nagaya.api.untyped import Untyped
from nagaya.clusters.management import NAMESPACES, identity
from nagaya.kube.client import Client
from nagaya.kube.errors import AlreadyExists, ApiError, NotFound
from nagaya.kube.patches import Apply, Merge
from nagaya.kube.transport import NoAnswer
from nagaya.moving.annotations import MOVED_FROM, MOVING, STAYS_PAUSED
from nagaya.moving.belongings import Belongings, belongings
from nagaya.moving.carried import carried
from nagaya.moving.checks import being_deleted, in_the_way, is_paused_alone, is_same, problems
from nagaya.moving.hosted import is_control_plane, is_data_store
from nagaya.moving.inventory import inventory, owners_of_pods
from nagaya.moving.item import CONFIG_MAPS, SECRETS, Item
from nagaya.moving.order import order
from nagaya.moving.records import WRITER, is_kept, record

BLOCK_MOVE: Final = f"{CLUSTERCTL_LABEL}/block-move"
"""An annotation of objects that must not move yet: their provider takes it away when they may."""
PATIENCE: Final = 90.0
"""Seconds until all controllers must have said that they leave their objects alone: more than one look may take."""
LOOK_AGAIN: Final = 1.0
AT_ONCE: Final = 8
"""Objects of a round that are made or taken away at the same time."""


class MoveFailed(Exception):
    """The move cannot begin, or not go on. What it has done stays, and the same command goes on with it."""


@dataclass(frozen=True, slots=True)
class Way:
    """What a move would do."""

    moved: Belongings
    rounds: tuple[tuple[Item, ...], ...]
    problems: tuple[str, ...]
    unfinished: tuple[Item, ...]
    """Clusters at the target that an earlier move left paused, because it ended early."""


class Move:
    """From one API to another."""

    def __init__(self, source: Client, target: Client, tell: Callable[[str], None], namespace: str = "") -> None:
        """Without a `namespace` everything moves."""
        self._source = source
        self._target = target
        self._tell = tell
        self._namespace = namespace

    async def look(self) -> Way:
        """See what there is to do, and what stands in the way. Changes nothing."""
        mine = await identity(self._source)
        with _asking("target"):
            theirs = await identity(self._target)
            if mine == theirs:
                raise MoveFailed(
                    "Source and target are the same API. Name another with --to-kubeconfig or --to-context."
                )
            there = await inventory(self._target)
        here = await inventory(self._source)
        moved = belongings(here.items, self._namespace)
        unfinished = tuple(each for each in there.items if each.is_cluster and MOVED_FROM in each.metadata.annotations)
        return Way(
            moved,
            tuple(map(tuple, order(moved))),
            tuple(problems(moved, theirs, there.definitions, there.items, await owners_of_pods(self._source))),
            tuple(each for each in unfinished if self._namespace in ("", each.metadata.namespace)),
        )

    async def run(self, way: Way, *, stopped: bool = False, home: str = "") -> None:
        """Do it. `stopped`: nobody looks after the source, so nobody can say that objects are left alone. `home`: where
        programs of hosted control planes are, if that is known: it is noted at the target."""
        if way.problems:
            raise MoveFailed(way.problems[0])
        if way.moved.items:
            with _asking("target"):
                to = await identity(self._target)
            with _asking("source"):
                await self._pause(way.moved, to)
                moved = await self._still(stopped)
            if going := list(being_deleted(moved.items)):
                raise MoveFailed(f"{going[0]} Then repeat the command: nothing was moved yet.")
            with _asking("target"):
                await self._make(order(moved), home)
                await self._compare(moved)
            with _asking("source"):
                await self._take_away(moved)
        await self._go_on()

    async def _pause(self, moved: Belongings, to: str) -> None:
        for each in moved.items:
            marked = each.metadata.annotations.get(MOVING) == to
            if each.is_cluster and not (marked and each.object.at("spec", "paused")):
                before = "true" if each.object.at("spec", "paused") else None
                marks = {MOVING: to, STAYS_PAUSED: before}
                patch: dict[str, Any] = {"metadata": {"annotations": marks}, "spec": {"paused": True}}
            elif is_paused_alone(each) and not (marked and PAUSED in each.metadata.annotations):
                patch = {"metadata": {"annotations": {MOVING: to, PAUSED: "true"}}}
            else:
                continue
            await _patch(self._source, each, patch)
            self._tell(f"{each} is paused.")

    async def _still(self, stopped: bool) -> Belongings:
        """Wait until everybody leaves the objects alone, and read them as they are then."""
        loop = asyncio.get_running_loop()
        until, told = loop.time() + PATIENCE, ""
        while True:
            moved = belongings((await inventory(self._source)).items, self._namespace)
            waiting = _blocked(moved.items) or ("" if stopped else _restless(moved.items))
            if not waiting:
                return moved
            if waiting != told:
                self._tell(waiting)
                told = waiting
            if loop.time() > until:
                raise MoveFailed(
                    f"{waiting} Nothing was moved yet. If no controllers run at the source, repeat the command with "
                    "--source-stopped; to give up, set spec.paused of the Clusters back to false, and take the "
                    f"annotation {PAUSED} from all others that it was given to: {MOVING} is there."
                )
            await asyncio.sleep(LOOK_AGAIN)

    async def _make(self, rounds: Sequence[Sequence[Item]], home: str) -> None:
        await self._make_namespaces({each.metadata.namespace for made in rounds for each in made} - {""})
        uids: dict[str, str] = {}
        count, total = 0, sum(map(len, rounds))
        for made in rounds:
            for some in _portions(made):
                answers = await asyncio.gather(*(self._make_one(each, uids, home) for each in some))
                uids |= {each.uid: uid for each, uid in zip(some, answers, strict=True)}
                count += len(some)
                self._tell(f"{count} of {total} objects are at the target.")

    async def _make_namespaces(self, names: set[str]) -> None:
        there = {each.metadata.name for each in (await self._target.list(NAMESPACES)).items}
        for name in sorted(names - there):
            await self._target.create(NAMESPACES, {"metadata": {"name": name}})

    async def _make_one(self, item: Item, uids: dict[str, str], home: str) -> str:
        """The uid that it has at the target."""
        wanted = carried(item, uids, home)
        try:
            made = await self._target.create(item.kind, wanted)
        except AlreadyExists:
            made = await self._already_there(item)
        if not is_kept(item, made):
            content = {"metadata": {"uid": made.metadata.uid}, "status": record(item)}
            patch = Apply(content, WRITER, force=True)
            place, name = item.metadata.namespace, item.metadata.name
            await self._target.patch(item.kind, place, name, patch, subresource="status")
        return made.metadata.uid

    async def _already_there(self, item: Item) -> Untyped:
        there = await self._target.get(item.kind, item.metadata.namespace, item.metadata.name)
        if not is_same(item, there):
            raise MoveFailed(f"{in_the_way(item)} Nothing was taken away at the source.")
        return there

    async def _compare(self, moved: Belongings) -> None:
        """Before anything goes: all of it must be there, and be what was carried."""
        there = {(each.kind.kind, each.kind.group, str(each)): each for each in (await inventory(self._target)).items}
        for each in moved.items:
            found = there.get((each.kind.kind, each.kind.group, str(each)))
            if found is None or not is_same(each, found.object):
                raise MoveFailed(
                    f"{each} is not at the target any more, although it was made there. Nothing was taken away at the "
                    "source: look who deletes it there, and repeat the command."
                )
            if not is_kept(each, found.object):
                raise MoveFailed(
                    f"{each} does not say at the target what it says at the source (status): somebody there has "
                    "changed it. Nothing was taken away at the source: repeat the command."
                )

    async def _take_away(self, moved: Belongings) -> None:
        """What is left still says to which move it belongs, wherever it ends: so what moves only because something
        names it goes first, and what owns others goes last."""
        backwards = [each for made in reversed(order(moved)) for each in made]
        goes = sorted(backwards, key=lambda each: (each.takes_along, not _is_only_named(each, moved)))
        for each in goes:
            await self._take_away_one(each)
        self._tell(f"{len(goes)} objects were taken away at the source.")

    async def _take_away_one(self, item: Item) -> None:
        annotations = {DELETE_FOR_MOVE: "", SKIP_VALIDATE_DELETE: ""}
        released: dict[str, Any] = {"metadata": {"annotations": annotations, "finalizers": None}}
        place, name = item.metadata.namespace, item.metadata.name
        try:
            await _patch(self._source, item, released)
            left = await self._source.delete(item.kind, place, name, uid=item.uid, propagation="Background")
            while left is not None:
                # Somebody was quick enough to put a finalizer back; now nobody can any more.
                await _patch(self._source, item, {"metadata": {"finalizers": None}})
                left = await self._source.get(item.kind, place, name)
        except NotFound:
            return  # gone already, or gone now

    async def _go_on(self) -> None:
        """Let everything at the target go on that the source has no longer: marks away, Clusters last."""
        with _asking("source"):
            kept = {each.uid for each in (await inventory(self._source)).items}
        with _asking("target"):
            await self._release(kept)

    async def _release(self, kept: Collection[str]) -> None:
        there = await inventory(self._target)
        came = [
            each
            for each in there.items
            if each.metadata.annotations.get(MOVED_FROM, "") not in ("", *kept)
            and self._namespace in ("", each.metadata.namespace or self._namespace)
        ]
        for each in sorted(came, key=lambda each: each.is_cluster):
            gone: dict[str, Any] = {MOVED_FROM: None, MOVING: None, STAYS_PAUSED: None, DELETE_FOR_MOVE: None}
            if is_paused_alone(each):
                gone[PAUSED] = None
            patch: dict[str, Any] = {"metadata": {"annotations": gone}}
            stays = STAYS_PAUSED in each.metadata.annotations
            if each.is_cluster and not stays:
                patch["spec"] = {"paused": None}
            await _patch(self._target, each, patch)
            if each.is_cluster:
                self._tell(f"{each} {'is at the target, paused as before' if stays else 'goes on at the target'}.")


@contextmanager
def _asking(end: str) -> Iterator[None]:
    """Whoever reads of a failure must know which of the two APIs it is about. Raises MoveFailed."""
    again = "What is done stays, and nothing is lost: repeat the command, and it goes on from there."
    try:
        yield
    except NoAnswer as error:
        raise MoveFailed(f"The API of the {end} does not answer: {error.why.rstrip('.')}. {again}") from error
    except ApiError as error:
        raise MoveFailed(f"The API of the {end} refuses something: {str(error).rstrip('.')}. {again}") from error


async def _patch(client: Client, item: Item, content: dict[str, Any]) -> None:
    await client.patch(item.kind, item.metadata.namespace, item.metadata.name, Merge(content))


def _portions(items: Sequence[Item]) -> list[Sequence[Item]]:
    return [items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE)]


def _blocked(items: Sequence[Item]) -> str:
    held = [str(each) for each in items if BLOCK_MOVE in each.metadata.annotations]
    return f"Waiting until {_some(held)} may move ({BLOCK_MOVE})." if held else ""


def _restless(items: Sequence[Item]) -> str:
    """Those of Clusters that tell whether they are paused, and do not say so yet."""
    busy = [str(each) for each in items if _is_busy(each)]
    return f"Waiting until controllers leave {_some(busy)} alone." if busy else ""


def _is_only_named(item: Item, moved: Belongings) -> bool:
    return item.kind in (SECRETS, CONFIG_MAPS) and not moved.owners[item.uid]


def _is_busy(item: Item) -> bool:
    """Whether somebody may look after it. Who runs programs, or keeps data, has to say that it leaves them alone."""
    told = _paused(item.object)
    if is_control_plane(item) or is_data_store(item):
        return told != "True"
    return (CLUSTER_NAME in item.metadata.labels or is_paused_alone(item)) and told == "False"


def _paused(obj: Untyped) -> str:
    conditions = obj.at("status", "conditions") or ()
    return next((str(each.get("status")) for each in conditions if each.get("type") == "Paused"), "")


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
