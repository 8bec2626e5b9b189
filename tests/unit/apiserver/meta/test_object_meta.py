from typing import Any

from nagaya.apiserver.meta import names, object_meta
from nagaya.apiserver.meta.field_errors import FieldError, Path

Meta = dict[str, Any]


def found(metadata: Meta, **options: Any) -> list[str]:
    return texts(object_meta.validate({"name": "a", "namespace": "n", **metadata}, namespaced=True, **options))


def texts(errors: list[FieldError]) -> list[str]:
    return [str(error) for error in errors]


def test_ordinary_metadata_is_fine() -> None:
    metadata = {
        "labels": {"app": "web", "x.io/y": ""},
        "annotations": {"X.io/Y": "any\nthing"},
        "finalizers": ["x.io/f", "orphan"],
        "ownerReferences": [{"apiVersion": "apps/v1", "kind": "D", "name": "d", "uid": "u", "controller": True}],
        "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1"}],
        "generation": 1,
    }
    assert found(metadata, name_check=names.name_is_subdomain) == []


def test_a_name_is_needed() -> None:
    assert found({"name": ""}) == ["metadata.name: Required value: name or generateName is required"]


def test_the_kind_decides_which_names_are_allowed() -> None:
    assert found({"name": "a.b"}, name_check=names.name_is_subdomain) == []
    assert found({"name": "a.b"}, name_check=names.name_is_label) == [
        'metadata.name: Invalid value: "a.b": must not contain dots'
    ]


def test_the_prefix_of_a_generated_name_is_checked_too() -> None:
    assert found({"generateName": "a/"}) == ["metadata.generateName: Invalid value: \"a/\": may not contain '/'"]
    assert found({"generateName": "a/"}, generate_name_checked=False) == []
    assert found({"name": "", "generateName": "a-"}, generate_name_checked=False) == [
        'metadata.name: Internal error: generateName was specified ("a-"), but no name was generated',
        "metadata.name: Required value: name or generateName is required",
    ]


def test_a_namespace_belongs_to_namespaced_kinds_only() -> None:
    assert found({"namespace": ""}) == ["metadata.namespace: Required value"]
    assert found({"namespace": "a.b"}) == ['metadata.namespace: Invalid value: "a.b": must not contain dots']
    cluster = object_meta.validate({"name": "a", "namespace": "n"}, namespaced=False)
    assert texts(cluster) == ["metadata.namespace: Forbidden: not allowed on this type"]


def test_a_generation_does_not_count_backwards() -> None:
    assert found({"generation": -1}) == ["metadata.generation: Invalid value: -1: must be greater than or equal to 0"]


def test_annotations_have_a_size_limit() -> None:
    assert found({"annotations": {"x": "y" * 262143}}) == []
    assert found({"annotations": {"x": "y" * 262144}}) == [
        "metadata.annotations: Too long: may not be more than 262144 bytes"
    ]


def test_an_event_owns_nothing() -> None:
    owner = {"uid": "u", "name": "x", "kind": "Event", "apiVersion": "v1"}
    assert found({"ownerReferences": [owner]}) == [
        'metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"x","uid":"u"}: '
        "/v1, Kind=Event is disallowed from being an owner"
    ]


def test_one_owner_is_the_controller() -> None:
    owners = [
        {"apiVersion": "v1", "kind": "A", "name": "x", "uid": "u", "controller": True},
        {"apiVersion": "v1", "kind": "B", "name": "y", "uid": "v", "blockOwnerDeletion": False, "controller": True},
    ]
    assert found({"ownerReferences": owners}) == [
        "metadata.ownerReferences: Invalid value: "
        '[{"apiVersion":"v1","kind":"A","name":"x","uid":"u","controller":true},'
        '{"apiVersion":"v1","kind":"B","name":"y","uid":"v","controller":true,"blockOwnerDeletion":false}]: '
        'Only one reference can have Controller set to true. Found "true" in references for A/x and B/y'
    ]


def test_an_owner_is_fully_named() -> None:
    assert found({"ownerReferences": [{"apiVersion": "a/b/c"}]}) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty',
        'metadata.ownerReferences.kind: Invalid value: "": must not be empty',
        'metadata.ownerReferences.name: Invalid value: "": must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ]


def test_dependents_are_orphaned_or_deleted_but_not_both() -> None:
    assert found({"finalizers": ["orphan", "foregroundDeletion"]}) == [
        'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: '
        "finalizer orphan and foregroundDeletion cannot be both set"
    ]


def test_built_in_kinds_want_a_domain_in_finalizers() -> None:
    assert object_meta.validate_known_finalizers({"finalizers": ["kubernetes", "x.io/f"]}) == []
    assert texts(object_meta.validate_known_finalizers({"finalizers": ["orphan", "x"]})) == [
        'metadata.finalizers[1]: Invalid value: "x": '
        "name is neither a standard finalizer name nor is it fully qualified"
    ]


def test_custom_resources_are_only_warned_about_finalizers_without_a_domain() -> None:
    warnings = object_meta.finalizer_warnings(["nodomain", "a.b", "x.io/f", "orphan"])
    reason = "to avoid accidental conflicts with other finalizer writers"
    assert warnings == [
        f'metadata.finalizers: "nodomain": prefer a domain-qualified finalizer name {reason}',
        f'metadata.finalizers: "a.b": prefer a domain-qualified finalizer name including a path (/) {reason}',
    ]


def test_managed_fields_name_a_printable_manager_and_a_known_operation() -> None:
    entry = {"manager": "é\x07", "operation": "Foo", "fieldsType": "x", "subresource": "s" * 257}
    assert found({"managedFields": [entry]}) == [
        'metadata.managedFields[0].operation: Invalid value: "Foo": must be `Apply` or `Update`',
        'metadata.managedFields[0].fieldsType: Invalid value: "x": must be `FieldsV1`',
        'metadata.managedFields[0].manager: Invalid value: "é\\a": invalid character U+0007 (at position 2)',
        "metadata.managedFields[0].subresource: Too long: may not be more than 256 bytes",
    ]


def test_a_field_manager_is_short() -> None:
    assert object_meta.validate_field_manager("m" * 128, Path("fieldManager")) == []
    assert texts(object_meta.validate_field_manager("m" * 129, Path("fieldManager"))) == [
        "fieldManager: Too long: may not be more than 128 bytes"
    ]


OLD: Meta = {
    "name": "a",
    "namespace": "n",
    "uid": "u",
    "resourceVersion": "1",
    "generation": 2,
    "creationTimestamp": "2026-01-01T00:00:00Z",
}


def changed(new: Meta, old: Meta | None = None) -> list[str]:
    return texts(object_meta.validate_update({**OLD, **new}, {**OLD, **(old or {})}))


def test_an_unchanged_object_may_be_written() -> None:
    assert changed({}) == []


def test_identity_cannot_change() -> None:
    assert changed({"name": "b", "uid": "v", "creationTimestamp": None}) == [
        'metadata.name: Invalid value: "b": field is immutable',
        'metadata.uid: Invalid value: "v": field is immutable',
        "metadata.creationTimestamp: Invalid value: null: field is immutable",
    ]


def test_an_update_says_what_it_was_based_on() -> None:
    assert changed({"resourceVersion": ""}) == [
        'metadata.resourceVersion: Invalid value: "": must be specified for an update'
    ]


def test_the_generation_never_falls() -> None:
    assert changed({"generation": 1}) == ["metadata.generation: Invalid value: 1: must not be decremented"]


def test_an_object_on_its_way_out_gets_no_more_finalizers() -> None:
    dying = {"deletionTimestamp": "2026-01-02T00:00:00Z", "finalizers": ["x.io/f"]}
    assert changed({**dying, "finalizers": []}, dying) == []
    assert changed({**dying, "finalizers": ["x.io/h", "x.io/f", "x.io/g"]}, dying) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, "
        'found new finalizers []string{"x.io/g", "x.io/h"}'
    ]


def test_labels_are_checked_on_updates_too() -> None:
    assert len(changed({"labels": {"-": "-"}})) == 2
