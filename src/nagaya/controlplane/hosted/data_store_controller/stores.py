"""The stores behind DataStores, as far as this process has reached them."""

from __future__ import annotations

from collections.abc import Callable

from nagaya.controlplane.hosted.data_store.driver import Driver


class Stores:
    """One for all controllers of a process: the one of DataStores fills it, the one of control planes uses it."""

    def __init__(self) -> None:
        self._drivers: dict[str, Driver] = {}
        self._subscribers: list[Callable[[str], None]] = []

    def get(self, uid: str) -> Driver | None:
        """The store of a DataStore; None before it was reached for the first time."""
        return self._drivers.get(uid)

    def subscribe(self, changed: Callable[[str], None]) -> None:
        """Call a function with the uid of a DataStore whose store was reached for the first time."""
        self._subscribers.append(changed)

    def put(self, uid: str, driver: Driver) -> None:
        """A store has been reached."""
        is_news = uid not in self._drivers
        self._drivers[uid] = driver
        if is_news:
            for each in self._subscribers:
                each(uid)

    def forget(self, uid: str) -> None:
        """A DataStore is gone."""
        self._drivers.pop(uid, None)
