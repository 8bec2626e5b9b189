from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.storage.contents import Contents, superseded
from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.history import Retention
from nagaya.apiserver.storage.record import Record

WRITES = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=20)


def written(writes: list[tuple[str, bool]]) -> list[Event]:
    contents = Contents(Retention())
    table = contents.table("configmaps")
    for key, delete in writes:
        previous = table.records.get(key)
        if delete and previous is None:
            continue
        revision = contents.revision + 1
        record = Record(key, revision, b"{}")
        contents.apply(
            Event(revision, table.name, key, None if delete else record, previous, record if delete else None)
        )
    return list(contents.history.log.events)


def replayed(events: list[Event]) -> dict[str, int]:
    state: dict[str, int] = {}
    for event in events:
        state.pop(event.key, None)
        if event.record is not None:
            state[event.key] = event.revision
    return state


@given(WRITES, st.data())
def test_garbage_may_be_removed_up_to_any_point_without_changing_what_the_log_adds_up_to(
    writes: list[tuple[str, bool]], data: st.DataObject
) -> None:
    """A compaction that is interrupted must not bring back what was deleted, or lose what is there."""
    events = written(writes)
    compacted = data.draw(st.integers(0, len(events)))
    garbage = superseded(events[:compacted])
    removed = set(garbage[: data.draw(st.integers(0, len(garbage)))])
    assert replayed([event for event in events if event.revision not in removed]) == replayed(events)


@given(WRITES)
def test_once_all_garbage_is_gone_only_the_present_is_left(writes: list[tuple[str, bool]]) -> None:
    events = written(writes)
    garbage = set(superseded(events))
    kept = [event.revision for event in events if event.revision not in garbage]
    assert kept == sorted(replayed(events).values())
