"""Events: one object, two forms, two sets of rules."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.builtins import decode, facts
from nagaya.apiserver.builtins.kinds import event_conversion
from nagaya.apiserver.builtins.kinds.event import EventsStrategy, EventStrategy
from nagaya.apiserver.builtins.kinds.event_validation import updated
from support.core_kinds import NAMESPACE, CoreKinds

CORE, EVENTS = "events", "events.events.k8s.io"
TIME = "2024-01-01T00:00:00.000000Z"
ABOUT = {"namespace": NAMESPACE, "kind": "Pod", "name": "p", "uid": "u"}
COMPLETE = {
    "eventTime": TIME,
    "reportingController": "example.com/kubelet",
    "reportingInstance": "node-1",
    "action": "Start",
    "reason": "Started",
    "type": "Normal",
    "regarding": ABOUT,
}


async def test_the_older_group_lets_almost_everything_pass() -> None:
    event = {"involvedObject": ABOUT, "type": "Odd", "message": "m" * 5000}
    made = await CoreKinds().create(CORE, {"metadata": {"name": "Odd_Name"}, **event})
    assert made["type"] == "Odd"


async def test_an_event_stays_in_the_namespace_of_what_it_is_about() -> None:
    told = "involvedObject.namespace: Invalid value: {}: does not match event.namespace"
    kinds = CoreKinds()
    assert await kinds.refused(CORE, {"involvedObject": {}}) == [told.format('""')]
    assert await kinds.refused(CORE, {"involvedObject": {"namespace": "x"}}) == [told.format('"x"')]


async def test_metadata_is_looked_at_after_the_event_itself() -> None:
    kinds = CoreKinds()
    metadata = {"name": "e", "labels": {"a b": "c"}}
    (told,) = await kinds.refused(CORE, {"metadata": metadata, "involvedObject": {"namespace": "x"}})
    assert told.startswith("involvedObject.namespace")
    (told,) = await kinds.refused(CORE, {"metadata": metadata, "involvedObject": ABOUT})
    assert told.startswith("metadata.labels")
    first, second = await kinds.refused(EVENTS, {"metadata": metadata, **COMPLETE, "action": ""})
    assert (first, second.partition(":")[0]) == ("action: Required value", "metadata.labels")


async def test_an_event_with_a_precise_time_has_to_be_complete() -> None:
    found = await CoreKinds().refused(CORE, {"involvedObject": ABOUT, "eventTime": TIME, "reportingComponent": "a"})
    assert found == ["reportingInstance: Required value", "action: Required value", "reason: Required value"]


async def test_the_newer_group_is_strict() -> None:
    kinds = CoreKinds()
    await kinds.create(EVENTS, COMPLETE)
    found = await kinds.refused(
        EVENTS,
        {
            **COMPLETE,
            "metadata": {"name": "two"},
            "type": "Odd",
            "deprecatedCount": 3,
            "deprecatedSource": {"host": "h"},
            "series": {"count": 1},
        },
    )
    assert found == [
        'series.count: Invalid value: "": should be at least 2',
        "series.lastObservedTime: Required value",
        'type: Invalid value: "": has invalid value: Odd',
        'count: Invalid value: "": needs to be unset',
        'source: Invalid value: "": needs to be unset',
    ]


async def test_in_the_newer_group_only_the_series_goes_on() -> None:
    kinds = CoreKinds()
    await kinds.create(EVENTS, COMPLETE)
    series = {"count": 2, "lastObservedTime": TIME}
    assert (await kinds.change(EVENTS, "it", {"series": series}))["series"] == series
    found = await kinds.change_refused(EVENTS, "it", {"note": "other", "regarding": {"name": "q"}})
    assert found == [
        'involvedObject: Invalid value: {"Kind":"Pod","Namespace":"town","Name":"q","UID":"u","APIVersion":"",'
        '"ResourceVersion":"","FieldPath":""}: field is immutable',
        'message: Invalid value: "other": field is immutable',
    ]


def test_what_was_said_cannot_be_taken_back() -> None:
    old = event_conversion.to_core({"metadata": {"namespace": NAMESPACE}, **COMPLETE, "related": {"kind": "x"}})
    new = {key: value for key, value in old.items() if key != "related"}
    assert [str(error) for error in updated(new, old, [])] == ["related: Invalid value: null: field is immutable"]


@pytest.mark.parametrize(
    ("strategy", "label", "matched"),
    [
        (EventStrategy(), "involvedObject.kind", "involvedObject.kind"),
        (EventStrategy(), "source", "source"),
        (EventsStrategy(), "regarding.kind", "involvedObject.kind"),
        (EventsStrategy(), "reportingController", "reportingComponent"),
    ],
)
def test_fields_are_selected_under_the_names_of_the_group(strategy: EventStrategy, label: str, matched: str) -> None:
    assert strategy.field_label(label) == matched


def test_a_group_does_not_know_the_others_names() -> None:
    with pytest.raises(ValueError, match=r"field label not supported: regarding\.kind"):
        EventStrategy().field_label("regarding.kind")
    with pytest.raises(ValueError, match="field label not supported: source"):
        EventsStrategy().field_label("source")


def test_both_forms_have_the_same_values() -> None:
    served = {"metadata": {}, **COMPLETE}
    assert EventsStrategy().select(served) == EventStrategy().select(event_conversion.to_core(served))
    assert EventsStrategy().select(served)["source"] == "example.com/kubelet"


TEXT = st.text("ab", max_size=2)
REFERENCE = st.fixed_dictionaries({}, optional={"kind": TEXT, "name": TEXT, "uid": TEXT})
SENT = st.fixed_dictionaries(
    {"metadata": st.just({"name": "e"})},
    optional={
        "involvedObject": REFERENCE,
        "related": REFERENCE,
        "message": TEXT,
        "reason": TEXT,
        "source": st.fixed_dictionaries({}, optional={"component": TEXT, "host": TEXT}),
        "count": st.integers(0, 2),
        "firstTimestamp": st.just("2024-01-01T00:00:00Z"),
        "eventTime": st.just(TIME),
        "reportingComponent": TEXT,
        "reportingInstance": TEXT,
        "series": st.fixed_dictionaries({}, optional={"count": st.integers(0, 2), "lastObservedTime": st.just(TIME)}),
    },
)


@given(SENT)
def test_nothing_is_lost_on_the_way_to_the_other_form_and_back(sent: dict[str, Any]) -> None:
    stored, _ = decode.normalise(facts.struct_of("core/v1.Event"), sent)
    served = event_conversion.to_events(stored)
    assert decode.normalise(facts.struct_of("events/v1.Event"), served)[0] == served
    assert event_conversion.to_core(served) == stored
