"""Admission's configuration as it is now: objects of a table, compiled once, and again when one of them changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.storage import Compacted, Store, Watch

Compiled = TypeVar("Compiled")


class Configurations(Generic[Compiled]):
    """The objects of a table in the order of their names, each as what `compile` makes of it.

    What a client was told is stored counts from then on: news is read before each use, which costs next to nothing when
    there is none.
    """

    __slots__ = ("_all", "_by_key", "_compile", "_store", "_table", "_watch", "generation")

    def __init__(self, store: Store, table: str, compile: Callable[[JsonObject], Compiled]) -> None:
        self._store = store
        self._table = table
        self._compile = compile
        self.generation = 0
        self._load()

    def _load(self) -> None:
        self._by_key = {each.key: self._compile(each.object()) for each in self._store.list(self._table).records}
        self._watch: Watch = self._store.watch(self._table, self._store.revision)
        self._settle()

    def _settle(self) -> None:
        self._all = [self._by_key[key] for key in sorted(self._by_key)]
        self.generation += 1

    @property
    def all(self) -> Sequence[Compiled]:
        """All of them. The same sequence as long as nothing has changed."""
        try:
            events = self._watch.poll()
            if events:
                while events:
                    for event in events:
                        if event.record is None:
                            self._by_key.pop(event.key, None)
                        else:
                            self._by_key[event.key] = self._compile(event.record.object())
                    events = self._watch.poll()
                self._settle()
        except Compacted:
            # Nobody has asked for longer than the history reaches back.
            self._load()
        return self._all
