"""What controllers that look after the objects of one table have in common: where they begin and what moves them."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.apiserver.storage import Event, Store


def keys(store: Store, table: str) -> Iterator[str]:
    """All objects there are."""
    for record in store.list(table).records:
        yield record.key


def came_or_changed(event: Event, table: str) -> Iterator[str]:
    """The object of an event, unless it is another table's or is gone."""
    if event.table == table and event.record is not None:
        yield event.key
