"""A client's object becomes the one that Go would write back."""

from __future__ import annotations

import copy
from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.apiserver.builtins import decode, facts
from nagaya.apiserver.builtins.decode import DecodeError
from nagaya.apiserver.builtins.gotypes import GoStruct
from nagaya.apiserver.meta import jsontext
from nagaya.apiserver.meta.gvk import GroupVersionKind
from support.subtest_cases import subtest_cases


def struct(kind: str, group: str = "", version: str = "v1") -> GoStruct:
    return facts.struct_of(GroupVersionKind(group, version, kind))


CONFIG_MAP = struct("ConfigMap")
SECRET = struct("Secret")
POD = struct("Pod")
ROLE = struct("Role", "rbac.authorization.k8s.io")
CRD = struct("CustomResourceDefinition", "apiextensions.k8s.io")
LEASE = struct("Lease", "coordination.k8s.io")


def normal(kind: GoStruct, obj: Any) -> Any:
    result, findings = decode.normalise(kind, obj)
    assert findings == []
    return result


def read(kind: GoStruct, body: str) -> tuple[Any, list[str]]:
    value, repeated = jsontext.parse(body.encode())
    return decode.normalise(kind, value, body=body.encode(), repeated=bool(repeated))


def problem(kind: GoStruct, body: str) -> str:
    with pytest.raises(DecodeError) as caught:
        read(kind, body)
    return str(caught.value)


def test_empty_values_are_left_out_where_go_leaves_them_out() -> None:
    metadata = {"name": "a", "labels": {}, "annotations": None, "finalizers": [], "namespace": "", "generation": 0}
    assert normal(CONFIG_MAP, {"metadata": metadata, "data": {}}) == {"metadata": {"name": "a"}}


def test_what_go_always_writes_is_added() -> None:
    assert normal(ROLE, {}) == {"metadata": {}, "rules": None}
    assert normal(POD, {"spec": {}}) == {"metadata": {}, "spec": {"containers": None}, "status": {}}
    condition = {"conditions": [{"type": "Ready"}]}
    assert normal(POD, {"status": condition})["status"]["conditions"] == [
        {"type": "Ready", "status": "", "lastProbeTime": None, "lastTransitionTime": None}
    ]


def test_a_missing_or_empty_creation_date_is_left_out() -> None:
    for date in (None, "0001-01-01T00:00:00Z"):
        assert normal(CONFIG_MAP, {"metadata": {"creationTimestamp": date}}) == {"metadata": {}}


def test_pointers_keep_their_zero() -> None:
    deployment = struct("Deployment", "apps")
    spec = normal(deployment, {"spec": {"replicas": 0, "minReadySeconds": 0}})["spec"]
    assert spec["replicas"] == 0
    assert "minReadySeconds" not in spec
    assert normal(POD, {"spec": {"volumes": [{"name": "v", "emptyDir": {}}]}})["spec"]["volumes"] == [
        {"name": "v", "emptyDir": {}}
    ]
    assert normal(CONFIG_MAP, {"immutable": False})["immutable"] is False


def test_an_empty_list_that_is_always_written_stays_until_it_is_stored() -> None:
    assert normal(ROLE, {"rules": []})["rules"] == []


def test_texts_with_a_form_are_brought_into_it() -> None:
    container = {"name": "c", "resources": {"limits": {"cpu": "1000m", "memory": "1.5Gi", "x": 2}}}
    limits = normal(POD, {"spec": {"containers": [container]}})["spec"]["containers"][0]["resources"]["limits"]
    assert limits == {"cpu": "1", "memory": "1536Mi", "x": "2"}
    assert normal(LEASE, {"spec": {"renewTime": "2024-01-02T03:04:05.123456+01:00"}})["spec"] == {
        "renewTime": "2024-01-02T02:04:05.123456Z"
    }
    assert normal(SECRET, {"data": {"a": "YW\nJj"}})["data"] == {"a": "YWJj"}


def test_a_quantity_that_is_a_number_is_read_as_it_was_written() -> None:
    def limits(text: str) -> Any:
        body = '{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":NUMBER}}}]}}'.replace("NUMBER", text)
        return read(POD, body)[0]["spec"]["containers"][0]["resources"]["limits"]

    assert limits("0.5") == {"cpu": "500m"}
    assert limits("1.500") == {"cpu": "1.500"}
    assert limits("1e3") == {"cpu": "1e3"}
    assert normal(struct("ResourceQuota"), {"spec": {"hard": {"cpu": 0.5}}})["spec"] == {"hard": {"cpu": "500m"}}


def test_nulls_in_lists_and_maps_are_zero_values() -> None:
    assert normal(CONFIG_MAP, {"data": {"a": None, "b": "x"}})["data"] == {"a": "", "b": "x"}
    assert normal(CONFIG_MAP, {"metadata": {"finalizers": ["a", None]}})["metadata"] == {"finalizers": ["a", ""]}
    assert normal(POD, {"spec": {"containers": [None]}})["spec"]["containers"] == [{"name": "", "resources": {}}]


def test_numbers_may_stand_for_bytes() -> None:
    assert normal(SECRET, {"data": {"a": [104, None, 105]}})["data"] == {"a": "aABp"}


def test_whole_floats_lose_their_point() -> None:
    schema = {"openAPIV3Schema": {"maximum": 1.0, "minimum": -0.5, "default": 1.0}}
    obj = normal(CRD, {"spec": {"versions": [{"schema": schema}]}})
    found = obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert orjson.dumps([found["maximum"], found["minimum"]]) == b"[1,-0.5]"


def test_raw_parts_are_kept_as_they_are() -> None:
    raw = {"any": [None, {"": []}], "empty": {}}
    revision = struct("ControllerRevision", "apps")
    assert normal(revision, {"data": raw, "revision": 1})["data"] == raw
    assert normal(revision, {"data": None})["data"] is None


def test_places_for_a_schema_or_something_else_take_both() -> None:
    def schema(part: Any) -> Any:
        obj = normal(CRD, {"spec": {"versions": [{"schema": {"openAPIV3Schema": part}}]}})
        return obj["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    for kept in (
        {"additionalProperties": True},
        {"additionalProperties": {"type": "string"}},
        {"items": [{"type": "string"}]},
        {"dependencies": {"a": ["b"], "c": {"type": "object"}}},
    ):
        assert schema(kept) == kept
    assert schema({"items": "nonsense", "additionalProperties": {"bogus": 1}}) == {
        "items": None,
        "additionalProperties": {},
    }


def test_the_clients_object_is_not_changed() -> None:
    obj = {"metadata": {"labels": {}, "name": "x"}, "spec": {"containers": [{"name": "c", "image": None}]}, "x": 1}
    before = copy.deepcopy(obj)
    decode.normalise(POD, obj)
    assert obj == before


@pytest.mark.parametrize(
    ("body", "findings"),
    [
        ('{"spec":{"foo":1}}', ['unknown field "spec.foo"']),
        ('{"Spec":{}}', ['unknown field "Spec"']),
        (
            '{"spec":{"containers":[{"name":"a"},{"bogus":{"x":1,"x":2}}]}}',
            ['unknown field "spec.containers[1].bogus"'],
        ),
        ('{"metadata":{"labels":{"a":"b","a":"c"}}}', ['duplicate field "metadata.labels.a"']),
        (
            '{"x":1,"metadata":{},"metadata":{"y":1},"x":2}',
            ['unknown field "x"', 'duplicate field "metadata"', 'unknown field "metadata.y"'],
        ),
        ('{"spec":{"a\\"b":1}}', ['unknown field "spec.a\\"b"']),
    ],
)
def test_a_strict_decoder_finds_unknown_and_repeated_fields_in_order(body: str, findings: list[str]) -> None:
    assert read(POD, body)[1] == findings


def test_inside_raw_parts_nothing_is_found() -> None:
    revision = struct("ControllerRevision", "apps")
    assert read(revision, '{"data":{"a":1,"a":2}}')[1] == []
    assert read(CONFIG_MAP, '{"metadata":{"managedFields":[{"fieldsV1":{"a":1,"a":2}}]}}')[1] == []


def test_findings_are_optional() -> None:
    assert decode.normalise(POD, {"bogus": 1}, strict=False)[1] == []


def test_at_most_a_hundred_findings_are_told() -> None:
    assert len(decode.normalise(POD, {f"x{index}": 1 for index in range(150)})[1]) == 100


def test_fields_given_twice_are_merged_as_go_does() -> None:
    body = '{"metadata":{"name":"a","labels":{"x":"1"}},"metadata":{"labels":{"y":"2"},"name":null}}'
    assert read(CONFIG_MAP, body)[0] == {"metadata": {"name": "a", "labels": {"x": "1", "y": "2"}}}
    body = '{"spec":{"containers":[{"name":"a"},{"name":"b"}],"containers":[{"image":"i"}]}}'
    assert read(POD, body)[0]["spec"]["containers"] == [{"name": "a", "image": "i", "resources": {}}]
    body = '{"metadata":{"creationTimestamp":"2024-01-01T00:00:00Z","creationTimestamp":null}}'
    assert read(CONFIG_MAP, body)[0] == {"metadata": {}}


def test_a_kind_that_the_caller_filled_in_is_kept() -> None:
    for body in (b'{"metadata":{},"metadata":{"name":"a"}}', b'{"metadata":{"name":"a"},"spec":{"hard":{"cpu":0.5}}}'):
        value, repeated = jsontext.parse(body)
        given = {**value, "kind": "ResourceQuota", "apiVersion": "v1"}
        obj, _ = decode.normalise(struct("ResourceQuota"), given, body=body, repeated=bool(repeated))
        assert (obj["kind"], obj["apiVersion"], obj["metadata"]) == ("ResourceQuota", "v1", {"name": "a"})


FIELD = "json: cannot unmarshal {} into Go struct field {} of type {}"


@subtest_cases(
    ("kind", "body", "text"),
    [
        (CONFIG_MAP, '{"data":"x"}', FIELD.format("string", "ConfigMap.data", "map[string]string")),
        (CONFIG_MAP, '{"data":{"a":1}}', FIELD.format("number", "ConfigMap.data", "string")),
        (CONFIG_MAP, '{"immutable":"x"}', FIELD.format("string", "ConfigMap.immutable", "bool")),
        (CONFIG_MAP, '{"metadata":[]}', FIELD.format("array", "ConfigMap.metadata", "v1.ObjectMeta")),
        (
            CONFIG_MAP,
            '{"metadata":{"ownerReferences":[{"uid":true}]}}',
            FIELD.format("bool", "OwnerReference.metadata.ownerReferences.uid", "types.UID"),
        ),
        (
            CONFIG_MAP,
            '{"metadata":{"generation":1.50}}',
            FIELD.format("number 1.50", "ObjectMeta.metadata.generation", "int64"),
        ),
        (
            CONFIG_MAP,
            '{"metadata":{"generation":9223372036854775808}}',
            FIELD.format("number 9223372036854775808", "ObjectMeta.metadata.generation", "int64"),
        ),
        (
            CONFIG_MAP,
            '{"metadata":{"creationTimestamp":5}}',
            FIELD.format("number", "ObjectMeta.metadata.creationTimestamp", "string"),
        ),
        (
            POD,
            '{"spec":{"volumes":[{"emptyDir":"x"}]}}',
            FIELD.format("string", "Volume.spec.volumes.VolumeSource.emptyDir", "v1.EmptyDirVolumeSource"),
        ),
        (
            POD,
            '{"spec":{"containers":[{"livenessProbe":{"httpGet":{"port":1.5}}}]}}',
            FIELD.format(
                "number 1.5", "HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port", "int32"
            ),
        ),
        (SECRET, '{"data":{"a":"!"}}', "illegal base64 data at input byte 0"),
        (SECRET, '{"data":{"a":[300]}}', FIELD.format("number 300", "Secret.data", "uint8")),
        (
            CRD,
            '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"items":{"type":1}}}}]}}',
            FIELD.format("number", "JSONSchemaProps.spec.versions.schema.openAPIV3Schema.items.type", "string"),
        ),
        (
            CRD,
            '{"spec":{"versions":[{"schema":{"openAPIV3Schema":{"additionalItems":"x"}}}]}}',
            "boolean or JSON schema expected",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_in_gos_words(kind: GoStruct, body: str, text: str) -> None:
    assert problem(kind, body) == text


def test_a_malformed_text_is_told_before_an_earlier_wrong_type() -> None:
    body = '{"spec":{"containers":[{"name":1,"resources":{"limits":{"cpu":"x"}}}]}}'
    assert problem(POD, body).startswith("quantities must match the regular expression")
    body = '{"metadata":{"generation":"x","creationTimestamp":"x"}}'
    assert problem(POD, body).startswith('parsing time "x"')


def test_the_first_wrong_type_is_told() -> None:
    assert problem(CONFIG_MAP, '{"data":1,"immutable":1,"x":2}') == FIELD.format(
        "number", "ConfigMap.data", "map[string]string"
    )


def test_a_body_says_what_it_is() -> None:
    assert decode.interpret({"kind": "Pod", "apiVersion": "v1"}) == ("v1", "Pod")
    assert decode.interpret({"Kind": "Pod", "APIVERSION": "v1"}) == ("v1", "Pod")
    assert decode.interpret({"kind": None}) == ("", "")
    assert decode.interpret(None) == ("", "")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"kind": 5}, "json: cannot unmarshal number into Go struct field .kind of type string"),
        ({"apiVersion": {}}, "json: cannot unmarshal object into Go struct field .apiVersion of type string"),
        (
            [1],
            "json: cannot unmarshal array into Go value of type "
            'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
        ),
    ],
)
def test_a_body_that_cannot_say_what_it_is_is_refused(value: Any, text: str) -> None:
    with pytest.raises(DecodeError) as caught:
        decode.interpret(value)
    assert str(caught.value) == f"couldn't get version/kind; json parse error: {text}"


def test_options_are_decoded_leniently() -> None:
    options = decode.decode_options("DeleteOptions", {"gracePeriodSeconds": 0, "bogus": 1, "dryRun": []})
    assert options == {"gracePeriodSeconds": 0}
    with pytest.raises(DecodeError, match=r"DeleteOptions\.gracePeriodSeconds of type int64"):
        decode.decode_options("DeleteOptions", {"gracePeriodSeconds": "x"})


# Objects made of real field names with values of any kind: most are wrong somewhere, some are right.
names = st.sampled_from(
    [
        *("metadata", "spec", "status", "name", "labels", "containers", "volumes", "image", "resources", "limits"),
        *("cpu", "env", "ports", "conditions", "type", "emptyDir", "sizeLimit", "creationTimestamp", "finalizers"),
        *("ownerReferences", "managedFields", "fieldsV1", "livenessProbe", "httpGet", "port", "replicas", "data", "x"),
    ]
)
objects = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 2**33) | st.sampled_from(["", "x", "1Gi", "2024-01-01T00:00:00Z", 1.5]),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(names, children, max_size=6),
    max_leaves=30,
)


@given(st.dictionaries(names, objects, max_size=5), st.sampled_from([POD, CONFIG_MAP, CRD, LEASE, ROLE]))
def test_any_object_is_decoded_or_refused_and_decoding_is_final(obj: dict[str, Any], kind: GoStruct) -> None:
    with suppress(DecodeError):
        once, _ = decode.normalise(kind, obj)
        again, findings = decode.normalise(kind, once)
        assert orjson.dumps(again) == orjson.dumps(once)
        assert findings == []
