"""Fields that a write through some endpoint has no say in."""

from nagaya.apiserver.apply import fieldset
from nagaya.apiserver.apply.reset_fields import ANY, only, without

WRITTEN = {
    "f:metadata": {"f:labels": {"f:a": {}}},
    "f:spec": {
        ".": {},
        "f:replicas": {},
        "f:containers": {'k:{"name":"a"}': {".": {}, "f:image": {}, "f:resources": {"f:limits": {}}}},
    },
    "f:status": {},
}


def test_fields_are_left_out_with_all_that_is_below() -> None:
    assert without(fieldset.of(["metadata"], ["spec", "containers"]))(WRITTEN) == {
        "f:spec": {".": {}, "f:replicas": {}},
        "f:status": {},
    }


def test_nothing_to_leave_out_leaves_the_set_itself() -> None:
    assert without(fieldset.of(["other"]))(WRITTEN) is WRITTEN


def test_only_what_is_named_is_kept() -> None:
    assert only(("spec", "containers", ANY, "resources"), ("status",))(WRITTEN) == {
        "f:spec": {".": {}, "f:containers": {'k:{"name":"a"}': {".": {}, "f:resources": {"f:limits": {}}}}},
        "f:status": {},
    }


def test_what_leads_nowhere_is_dropped() -> None:
    assert only(("metadata", "annotations"))(WRITTEN) == {}
