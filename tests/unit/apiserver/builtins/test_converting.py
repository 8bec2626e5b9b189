"""Kinds that are stored in one form and served in another."""

import orjson

from nagaya.apiserver.builtins.converting import ConvertingCodec
from nagaya.apiserver.builtins.kinds import event_conversion
from nagaya.apiserver.storage.record import Record

STORED = {
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod"},
    "message": "m",
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


def codec() -> ConvertingCodec:
    return ConvertingCodec("Event", "events.k8s.io/v1", event_conversion.to_events, event_conversion.to_core)


async def test_stored_objects_are_served_in_the_other_form() -> None:
    record = Record("ns/e", 5, orjson.dumps(STORED))
    (served,) = await codec().decode([record])
    assert served == {
        "kind": "Event",
        "apiVersion": "events.k8s.io/v1",
        "metadata": {"name": "e"},
        "regarding": {"kind": "Pod"},
        "note": "m",
        "deprecatedSource": {},
        "deprecatedFirstTimestamp": None,
        "deprecatedLastTimestamp": None,
        "eventTime": None,
    }
    assert not codec().is_direct(record)


async def test_what_is_stored_is_what_was_there() -> None:
    (served,) = await codec().decode([Record("ns/e", 5, orjson.dumps(STORED))])
    assert await codec().encode(served) == STORED
