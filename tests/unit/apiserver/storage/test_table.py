from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.storage.event import Event
from nagaya.apiserver.storage.record import Record
from nagaya.apiserver.storage.table import Table

KEYS = st.text(alphabet="ab/-.\u00e9\uffff\U0001f600\U0010ffff", min_size=1, max_size=3)


def event(table: Table, key: str, revision: int, delete: bool) -> Event:
    previous = table.records.get(key)
    record = None if delete else Record(key, revision, b"{}")
    return Event(revision, table.name, key, record, previous, Record(key, revision, b"{}") if delete else None)


@given(st.data())
def test_any_page_at_any_revision_is_what_a_plain_dict_held_then(data: st.DataObject) -> None:
    table = Table("configmaps")
    states: list[dict[str, int]] = [{}]
    for revision in range(1, data.draw(st.integers(0, 12)) + 1):
        state = dict(states[-1])
        key = data.draw(KEYS)
        delete = key in state and data.draw(st.booleans())
        table.apply(event(table, key, revision, delete))
        if delete:
            del state[key]
        else:
            state[key] = revision
        states.append(state)
    revision = data.draw(st.integers(0, len(states) - 1))
    prefix = data.draw(st.one_of(st.just(""), KEYS))
    start_after = data.draw(st.one_of(st.none(), KEYS))
    limit = data.draw(st.one_of(st.none(), st.integers(1, 4)))

    records, remaining = table.at(revision, prefix, start_after, limit)
    expected = sorted(
        (
            (key, written)
            for key, written in states[revision].items()
            if key.startswith(prefix) and (start_after is None or key > start_after)
        ),
        key=lambda item: item[0].encode(),
    )
    page = expected if limit is None else expected[:limit]
    assert [(record.key, record.revision) for record in records] == page
    assert remaining == len(expected) - len(page)
    assert table.count(prefix) == sum(key.startswith(prefix) for key in states[-1])
    assert table.keys == sorted(states[-1], key=lambda key: key.encode())
