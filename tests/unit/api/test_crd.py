"""How models become structural schemas."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Final

import msgspec
import pytest

from nagaya.api.crd import render, schema
from nagaya.api.definition import PAUSED_COLUMN, Column, Definition, Scale, age, provider_labels
from nagaya.api.kind import Kind, Resource
from nagaya.api.model import Model, doc, rule


class Sail(Model):
    """A sail."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    area: Annotated[int | None, doc("In square metres.", minimum=1)] = None


class BoatSpec(Model):
    """A boat."""

    name: Annotated[str, doc("What it is called.", minLength=1)]
    displacement: Annotated[int, doc("In grams.", format="int64", required=False)]
    sails: Annotated[tuple[Sail, ...], doc("From bow to stern.", list_type="atomic")] = ()
    crew: Annotated[Mapping[str, int], doc("Ages by name.")] = msgspec.field(default_factory=dict)
    share: Annotated[int | str | None, doc("A number or a percentage.")] = None
    launched: Annotated[datetime | None, doc("When it was launched.")] = None
    cargo: Annotated[Any, doc("Whatever it is.")] = None
    main: Annotated[Sail, doc("The largest.")] = Sail()
    flag: Annotated[
        str, doc("Which flag.", enum=["red", "blue"], default="red", rules=[rule("self != 'x'", "not x")])
    ] = ""


class Boat(Resource):
    """Something that floats."""

    spec: Annotated[BoatSpec, doc("The boat.", required=True)] = BoatSpec(name="", displacement=0)


BOATS: Final = Kind("example.com", "v1", "Boat", "boats", Boat)
DEFINITION: Final = Definition(BOATS, short_names=("bo",), columns=(PAUSED_COLUMN, age("boat")), scale=Scale())


def spec_of(definition: Definition) -> dict[str, Any]:
    found: dict[str, Any] = schema(definition)["properties"]["spec"]
    return found


def test_a_field_without_a_default_is_required_unless_it_says_otherwise() -> None:
    assert spec_of(DEFINITION)["required"] == ["name"]
    assert schema(DEFINITION)["required"] == ["spec"]


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("name", {"type": "string", "minLength": 1, "description": "What it is called."}),
        ("displacement", {"type": "integer", "format": "int64", "description": "In grams."}),
        (
            "crew",
            {
                "type": "object",
                "additionalProperties": {"type": "integer", "format": "int32"},
                "description": "Ages by name.",
            },
        ),
        (
            "share",
            {
                "anyOf": [{"type": "integer"}, {"type": "string"}],
                "x-kubernetes-int-or-string": True,
                "description": "A number or a percentage.",
            },
        ),
        ("launched", {"type": "string", "format": "date-time", "description": "When it was launched."}),
        ("cargo", {"x-kubernetes-preserve-unknown-fields": True, "description": "Whatever it is."}),
        (
            "flag",
            {
                "type": "string",
                "enum": ["red", "blue"],
                "default": "red",
                "x-kubernetes-validations": [{"rule": "self != 'x'", "message": "not x"}],
                "description": "Which flag.",
            },
        ),
    ],
)
def test_every_type_has_a_schema(field: str, expected: dict[str, Any]) -> None:
    assert spec_of(DEFINITION)["properties"][field] == expected


def test_items_are_described_by_their_class_and_fields_by_themselves() -> None:
    properties = spec_of(DEFINITION)["properties"]
    assert properties["sails"]["items"]["description"] == "A sail."
    assert properties["sails"]["x-kubernetes-list-type"] == "atomic"
    assert properties["main"]["description"] == "The largest."


def test_what_holds_of_a_class_holds_wherever_it_is_used() -> None:
    properties = spec_of(DEFINITION)["properties"]
    assert properties["sails"]["items"]["minProperties"] == properties["main"]["minProperties"] == 1


def test_a_definition_says_how_a_kind_is_named_and_shown() -> None:
    definition = render(DEFINITION)
    assert definition["metadata"]["name"] == "boats.example.com"
    assert definition["spec"]["names"] == {
        "kind": "Boat",
        "listKind": "BoatList",
        "plural": "boats",
        "singular": "boat",
        "shortNames": ["bo"],
        "categories": ["cluster-api"],
    }
    version = definition["spec"]["versions"][0]
    assert version["subresources"] == {
        "status": {},
        "scale": {
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        },
    }
    assert version["additionalPrinterColumns"][0]["priority"] == 10
    assert version["schema"]["openAPIV3Schema"]["description"] == "Something that floats."


def test_a_rendered_definition_belongs_to_the_caller() -> None:
    spec_of(DEFINITION)["properties"]["flag"]["enum"].append("green")
    assert spec_of(DEFINITION)["properties"]["flag"]["enum"] == ["red", "blue"]


def test_a_kind_without_status_has_no_status_subresource() -> None:
    definition = render(Definition(BOATS, status=False, columns=(Column("Name", ".spec.name"),)))
    assert definition["spec"]["versions"][0]["subresources"] == {}
    assert definition["spec"]["versions"][0]["additionalPrinterColumns"] == [
        {"name": "Name", "jsonPath": ".spec.name", "type": "string"}
    ]


def test_the_labels_of_a_provider_name_the_contract() -> None:
    assert provider_labels("bootstrap-kubeadm") == {
        "clusterctl.cluster.x-k8s.io": "",
        "cluster.x-k8s.io/provider": "bootstrap-kubeadm",
        "cluster.x-k8s.io/v1beta2": "v1beta2",
    }


def test_a_union_that_has_no_schema_is_refused() -> None:
    class Odd(Model):
        """Odd."""

        value: Annotated[int | bool, doc("Either.")] = 0

    with pytest.raises(TypeError, match="no structural schema"):
        schema(Definition(Kind("example.com", "v1", "Odd", "odds", Odd)))
