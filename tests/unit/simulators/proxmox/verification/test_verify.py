"""Parameters of a call: types, bounds, lists, and how they come out."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox import surface
from nagaya.simulators.proxmox.failure import ParameterFailure
from nagaya.simulators.proxmox.surface import Schema
from nagaya.simulators.proxmox.verification import Value, accept, verify
from support.subtest_cases import subtest_cases

ROUTES = surface.routes("9.2")


def complaint(schema: Schema, value: Value) -> str | None:
    return verify(Schema(properties={"value": schema}, additional=False), {"value": value}).get("value")


@subtest_cases(
    ("schema", "value", "expected"),
    [
        (Schema(type="integer"), "-5", None),
        (Schema(type="integer"), "+5", None),
        (Schema(type="integer"), 5, None),
        (Schema(type="integer"), 5.0, None),
        (Schema(type="integer"), "5.0", "type check ('integer') failed - got '5.0'"),
        (Schema(type="integer"), 5.5, "type check ('integer') failed - got '5.5'"),
        (Schema(type="integer"), "", "type check ('integer') failed - got ''"),
        (Schema(type="integer"), True, "type check ('integer') failed - got JSON::PP::Boolean"),
        (Schema(type="integer"), ["1", "2"], "type check ('integer') failed - got ARRAY"),
        (Schema(type="number"), "1e3", None),
        (Schema(type="number"), ".5", None),
        (Schema(type="number"), "1.", None),
        (Schema(type="number"), "1,5", "type check ('number') failed - got '1,5'"),
        (Schema(type="boolean"), "0", None),
        (Schema(type="boolean"), 1, None),
        (Schema(type="boolean"), True, None),
        (Schema(type="boolean"), "yes", "type check ('boolean') failed - got 'yes'"),
        (Schema(type="boolean"), 2, "type check ('boolean') failed - got '2'"),
        (Schema(type="boolean"), {}, "type check ('boolean') failed - got HASH"),
        (Schema(type="string"), False, "type check ('string') failed - got JSON::PP::Boolean"),
        (Schema(type="string"), 12, None),
        (Schema(type="string"), {"a": "b"}, "type check ('string') failed - got HASH"),
        (Schema(type="array"), {"a": "b"}, "type check ('array') failed"),
        (Schema(type="array"), "", "type check ('array') failed"),
        (Schema(type="object"), "a", "type check ('object') failed"),
        (Schema(type="object"), {"a": "b"}, None),
        (Schema(type="null"), "a", "type check ('null') failed - value is not null"),
        (Schema(), "a", None),
        (Schema(), ["a"], None),
        (Schema(type="string", max_length=2), "abc", "value may only be 2 characters long"),
        (Schema(type="string", min_length=2), "ü", "value must be at least 2 characters long"),
        (Schema(type="string", pattern="a+"), "b", "value does not match the regex pattern"),
        (Schema(type="string", pattern="a|b"), "ax", None),
        (Schema(type="integer", maximum=5), "6", "value must have a maximum value of 5"),
        (Schema(type="number", minimum=0.5), "0.4", "value must have a minimum value of 0.5"),
        (Schema(type="string", minimum=5), "4", "value must have a minimum value of 5"),
        (Schema(type="string", minimum=5), "few", None),
        (Schema(type="string", enum=("a", "b")), "c", "value 'c' does not have a value in the enumeration 'a, b'"),
        (Schema(type="string", format="pve-tag", max_length=1), "-xx", "invalid format - invalid characters in tag\n"),
        (Schema(type="string"), None, "property is missing and it is not optional"),
        (Schema(type="string", optional=True), None, None),
    ],
)  # fmt: skip
def test_a_value_is_taken_or_refused_for_its_first_fault(schema: Schema, value: Value, expected: str | None) -> None:
    assert complaint(schema, value) == expected


def test_items_of_an_array_are_named_by_their_place() -> None:
    schema = Schema(properties={"list": Schema(type="array", items=Schema(type="integer"))}, additional=False)
    assert verify(schema, {"list": ["1", "x", None]}) == {
        "list[1]": "type check ('integer') failed - got 'x'",
        "list[2]": "property is missing and it is not optional",
    }


def test_properties_of_an_object_are_named_by_their_path() -> None:
    inner = Schema(type="object", properties={"a": Schema(type="integer")}, additional=False)
    schema = Schema(properties={"outer": inner}, additional=False)
    assert verify(schema, {"outer": {"b": "1"}}) == {
        "outer.a": "property is missing and it is not optional",
        "outer.b": "property is not defined in schema and the schema does not allow additional properties",
    }


def test_further_properties_can_be_allowed_or_have_a_schema() -> None:
    assert verify(Schema(), {"a": "b"}) == {}
    assert verify(Schema(additional=True), {"a": "b"}) == {}
    assert verify(Schema(additional=Schema(type="integer")), {"a": "b"}) == {
        "a": "type check ('integer') failed - got 'b'"
    }


def test_two_complaints_on_one_property_stand_in_one_line() -> None:
    schema = Schema(properties={"a": Schema(type="string", requires="b"), "b": Schema(type="string")}, additional=False)
    assert verify(schema, {"a": "1"}) == {
        "b": r"property is missing and it is not optional\nmissing property required by 'a'"
    }


def test_parameters_come_out_typed() -> None:
    route = ROUTES.get("PUT", "/nodes/{node}/qemu/{vmid}/config")
    given = {"node": "pve1", "vmid": "100", "cores": 2, "onboot": True, "memory": 64, "cpulimit": "1.50", "acpi": "0"}
    assert accept(route.parameters, given) == {
        "node": "pve1",
        "vmid": 100,
        "cores": 2,
        "onboot": True,
        "memory": "64",
        "cpulimit": "1.50",
        "acpi": False,
    }


def test_what_is_null_stays_null() -> None:
    route = ROUTES.get("PUT", "/nodes/{node}/qemu/{vmid}/config")
    assert accept(route.parameters, {"node": "pve1", "vmid": "100", "onboot": None})["onboot"] is None


@pytest.mark.parametrize("command", ["id", ["id"], ("id",)])
def test_a_single_value_for_an_array_becomes_one(command: Any) -> None:
    route = ROUTES.get("POST", "/nodes/{node}/qemu/{vmid}/agent/exec")
    assert accept(route.parameters, {"node": "pve1", "vmid": "100", "command": command})["command"] == ["id"]


def test_several_values_for_a_list_in_one_string_are_joined() -> None:
    route = ROUTES.get("PUT", "/pools")
    assert accept(route.parameters, {"poolid": "dev", "vms": ["100", 101]})["vms"] == "100,101"
    assert verify(route.parameters, {"poolid": ["a", "b"]}) == {"poolid": "type check ('string') failed - got ARRAY"}


def test_refusal_carries_all_complaints() -> None:
    with pytest.raises(ParameterFailure) as refused:
        accept(ROUTES.get("GET", "/cluster/nextid").parameters, {"vmid": "1", "foo": "2"})
    assert refused.value.status == 400
    assert refused.value.errors is not None
    assert set(refused.value.errors) == {"vmid", "foo"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(
    st.dictionaries(
        st.sampled_from(["memory", "cores", "net0", "scsi0", "tags", "boot", "cpu", "onboot", "startup", "foo"]),
        json_values,
    )
)
def test_nothing_that_json_can_say_breaks_verification(given_values: dict[str, Value]) -> None:
    route = ROUTES.get("PUT", "/nodes/{node}/qemu/{vmid}/config")
    sent = {"node": "pve1", "vmid": "100", **given_values}
    errors = verify(route.parameters, sent)
    if not errors:
        assert set(accept(route.parameters, sent)) == set(sent)
