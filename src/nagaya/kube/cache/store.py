"""The objects of one kind as they are known, which is never older than anything known before.

Three sources tell the store about objects: lists, watch events, and the answers to our own writes, which overtake the
watch. They are put in order by the resourceVersion, a number that grows with every write of the server. What always
holds:

- An object is replaced only by a newer state of it. Watch events about writes whose answers came first change nothing.
- `position` is how far the watch has seen. The answer to a write up to there is old news: if the object is not here, it
  was deleted since, and does not come back.
- An object whose deletion was answered is gone at once, by its uid, until the watch or a list has caught up with that.
- Every object that appears, changes or goes is told exactly once, also when a list shows that it went unseen.

No input or output happens here; all of it is plain calls that the reflector and the cache make.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Collection, Iterable
from typing import Generic, TypeVar

from nagaya.api.kind import Object
from nagaya.kube.cache.change import Change
from nagaya.kube.cache.index import OWNER, Index, owner_uids
from nagaya.kube.key import Key

T = TypeVar("T", bound=Object)


def version(obj: Object) -> int:
    """The resourceVersion of an object as the number that it is."""
    return int(obj.metadata.resource_version or 0)


class Store(Generic[T]):
    """The objects of a kind by key, with indexes. Tells every change to `tell`."""

    def __init__(self, tell: Callable[[Change[T]], None], *, whole: bool = True) -> None:
        self._tell = tell
        self._whole = whole
        """Whether every object of the kind belongs here; if not, our own writes cannot know whether theirs do."""
        self._objects: dict[str, dict[str, T]] = {}
        self._sorted: set[str] = set()
        self._namespaces: builtins.list[str] | None = []
        self._indexes: dict[str, Index[T]] = {OWNER: Index(owner_uids)}
        self._gone: set[str] = set()
        self._gone_before_list: frozenset[str] = frozenset()
        self._count = 0
        self.position = 0

    def __len__(self) -> int:
        return self._count

    def get(self, key: Key) -> T | None:
        """The object of a key."""
        place = self._objects.get(key.namespace)
        return None if place is None else place.get(key.name)

    def list(self, namespace: str = "") -> builtins.list[T]:
        """The objects of a namespace, or all, by namespace and name."""
        if namespace:
            return self._in(namespace)
        if self._namespaces is None:
            self._namespaces = sorted(self._objects)
        return [obj for name in self._namespaces for obj in self._in(name)]

    def by(self, index: str, value: str) -> builtins.list[T]:
        """The objects that have a value in an index, by namespace and name."""
        objects = self._objects
        return [objects[key.namespace][key.name] for key in self._indexes[index].keys(value)]

    def add_index(self, name: str, values: Callable[[T], Iterable[str]]) -> None:
        """Find objects by what a function says of them. An index that is there already stays as it is."""
        if name in self._indexes:
            return
        index = self._indexes[name] = Index(values)
        for obj in self.list():
            index.change(Key.of(obj), None, obj)

    def begin_list(self) -> None:
        """A list is about to be asked for: it will know of every deletion that was answered until now."""
        self._gone_before_list = frozenset(self._gone)

    def replace(self, objects: Iterable[T], position: int, unreadable: Collection[Key] = ()) -> None:
        """A list has come: what is not in it and is not newer than it was deleted.

        Objects that could not be read stay as they were last read: they are there, and must not be taken for deleted.
        """
        # A consistent list that is older than what was seen already: the server's data were put back to an earlier
        # state, and numbers are given out again. What is here means nothing any more.
        restored = position < self.position
        self._gone = set() if restored else self._gone - self._gone_before_list
        listed: set[Key] = set(unreadable)
        for obj in objects:
            key = Key.of(obj)
            listed.add(key)
            if obj.metadata.uid in self._gone:
                continue
            held = self.get(key)
            if held is None or restored or version(obj) > version(held):
                self._put(key, held, obj)
        for obj in self.list():
            key = Key.of(obj)
            if key not in listed and (restored or version(obj) <= position):
                self._remove(key, obj)
        self.position = position

    def saw(self, obj: T) -> None:
        """A watch event says that an object was added or changed."""
        number = version(obj)
        news = number > self.position
        if news:
            self.position = number
        if obj.metadata.uid in self._gone:
            return
        key = Key.of(obj)
        held = self.get(key)
        if news if held is None else number > version(held):
            self._put(key, held, obj)

    def saw_deleted(self, obj: T) -> None:
        """A watch event says that an object was deleted, or no longer belongs to what is watched."""
        number = version(obj)
        if number > self.position:
            self.position = number
        self._gone.discard(obj.metadata.uid)
        key = Key.of(obj)
        held = self.get(key)
        if held is not None and version(held) <= number:
            self._remove(key, held)

    def saw_position(self, position: int) -> None:
        """A bookmark says how far the watch is."""
        self.position = max(self.position, position)

    def wrote(self, obj: T) -> None:
        """The answer to a write of ours. Without effect if the watch is further already."""
        key = Key.of(obj)
        number = version(obj)
        held = self.get(key)
        if held is None:
            if number <= self.position or not self._whole or obj.metadata.uid in self._gone:
                return
        elif number <= version(held):
            return
        self._put(key, held, obj)

    def deleted(self, obj: T) -> None:
        """The answer to a deletion of ours: the object is gone."""
        key = Key.of(obj)
        held = self.get(key)
        uid = obj.metadata.uid
        if held is not None and held.metadata.uid == uid:
            self._gone.add(uid)
            self._remove(key, held)
        elif held is None and self._whole and version(obj) > self.position:
            # We know of it only by our own hand; the watch has yet to tell of its coming and going.
            self._gone.add(uid)

    def lose(self, key: Key) -> None:
        """A watch event says that an object was deleted which can no longer be read."""
        held = self.get(key)
        if held is not None:
            self._gone.discard(held.metadata.uid)
            self._remove(key, held)

    def missing(self, objects: Iterable[T], position: int, unreadable: Collection[Key] = ()) -> bool:
        """Whether a list knows of something that has not arrived here yet."""
        listed: set[Key] = set(unreadable)
        for obj in objects:
            key = Key.of(obj)
            listed.add(key)
            held = self.get(key)
            if obj.metadata.uid not in self._gone and (held is None or version(held) < version(obj)):
                return True
        return any(version(obj) <= position and Key.of(obj) not in listed for obj in self.list())

    def _in(self, namespace: str) -> builtins.list[T]:
        place = self._objects.get(namespace)
        if place is None:
            return []
        if namespace not in self._sorted:
            place = self._objects[namespace] = dict(sorted(place.items()))
            self._sorted.add(namespace)
        return list(place.values())

    def _put(self, key: Key, held: T | None, obj: T) -> None:
        if held is not None and held.metadata.uid != obj.metadata.uid:
            # Another object of the same name: the end of the first went by unseen.
            self._remove(key, held)
            held = None
        place = self._objects.get(key.namespace)
        if place is None:
            place = self._objects[key.namespace] = {}
            self._namespaces = None
        if held is None:
            self._count += 1
            self._sorted.discard(key.namespace)
        place[key.name] = obj
        for index in self._indexes.values():
            index.change(key, held, obj)
        self._tell(Change(held, obj))

    def _remove(self, key: Key, held: T) -> None:
        place = self._objects[key.namespace]
        del place[key.name]
        self._count -= 1
        if not place:
            del self._objects[key.namespace]
            self._sorted.discard(key.namespace)
            self._namespaces = None
        for index in self._indexes.values():
            index.change(key, held, None)
        self._tell(Change(held, None))
