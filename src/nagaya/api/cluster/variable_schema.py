"""The schema of a ClusterClass variable: the part of OpenAPI v3 that CRDs know as well.

Nested schemas are any JSON here, because a structural schema cannot recur.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import msgspec

from nagaya.api.meta import NONE
from nagaya.api.model import Model, doc


class VariableRule(Model):
    """A rule in CEL that values must fulfil."""

    rule: Annotated[
        str,
        doc("The expression. It is true for values that are allowed; self is the value.", minLength=1, maxLength=4096),
    ]
    message: Annotated[
        str,
        doc(
            "What to tell the user when a value is not allowed. The rule itself if left out.",
            minLength=1,
            maxLength=512,
        ),
    ] = ""
    message_expression: Annotated[
        str,
        doc(
            "An expression that makes the message. It takes precedence over message, unless it fails.",
            minLength=1,
            maxLength=1024,
        ),
    ] = ""
    reason: Annotated[
        str,
        doc(
            "What kind of error it is.",
            enum=["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"],
            default="FieldValueInvalid",
        ),
    ] = ""
    field_path: Annotated[
        str,
        doc("Which part of the value is wrong, for example .size. The whole if left out.", minLength=1, maxLength=512),
    ] = ""


class VariableMetadata(Model):
    """Labels and annotations of a variable, for tools that work with classes."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    labels: Annotated[Mapping[str, str], doc("Labels of the variable.")] = NONE
    annotations: Annotated[Mapping[str, str], doc("Annotations of the variable.")] = NONE


class VariableSchema(Model):
    """Which values a variable can have."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    description: Annotated[str, doc("What the variable does, for those who set it.", minLength=1, maxLength=4096)] = ""
    example: Annotated[Any, doc("A value that one could set.")] = None
    type: Annotated[
        str,
        doc(
            "The type of the value. It must be given, unless x-kubernetes-int-or-string is.",
            enum=["object", "array", "string", "integer", "number", "boolean"],
        ),
    ] = ""
    properties: Annotated[Any, doc("The fields of an object: a schema for each name.")] = None
    additional_properties: Annotated[Any, doc("The schema of the values of an object whose names are free.")] = None
    max_properties: Annotated[int | None, doc("How many fields an object may have.", format="int64")] = None
    min_properties: Annotated[int | None, doc("How many fields an object must have.", format="int64")] = None
    required: Annotated[
        tuple[Annotated[str, doc("The name of a field.", minLength=1, maxLength=256)], ...],
        doc("Fields that an object must have.", minItems=1, maxItems=1000, list_type="atomic"),
    ] = ()
    items: Annotated[Any, doc("The schema of the items of an array.")] = None
    max_items: Annotated[int | None, doc("How many items an array may have.", format="int64")] = None
    min_items: Annotated[int | None, doc("How many items an array must have.", format="int64")] = None
    unique_items: Annotated[bool | None, doc("Whether the items of an array must differ.")] = None
    format: Annotated[
        str, doc("What a string or number stands for, for example date-time.", minLength=1, maxLength=32)
    ] = ""
    max_length: Annotated[int | None, doc("How long a string may be.", format="int64")] = None
    min_length: Annotated[int | None, doc("How long a string must be.", format="int64")] = None
    pattern: Annotated[str, doc("A regular expression that a string must match.", minLength=1, maxLength=512)] = ""
    maximum: Annotated[int | None, doc("The largest number.", format="int64")] = None
    exclusive_maximum: Annotated[bool | None, doc("Whether numbers must be smaller than maximum.")] = None
    minimum: Annotated[int | None, doc("The smallest number.", format="int64")] = None
    exclusive_minimum: Annotated[bool | None, doc("Whether numbers must be larger than minimum.")] = None
    preserve_unknown_fields: Annotated[bool | None, doc("Whether fields that the schema does not name are kept.")] = (
        msgspec.field(default=None, name="x-kubernetes-preserve-unknown-fields")
    )
    enum: Annotated[
        tuple[Any, ...],
        doc("The values that are allowed. All others are not.", maxItems=100, list_type="atomic"),
    ] = ()
    default: Annotated[Any, doc("The value, if none is given.")] = None
    validations: Annotated[
        tuple[VariableRule, ...],
        doc(
            "Rules in CEL that values must fulfil.",
            minItems=1,
            maxItems=100,
            list_type="map",
            list_map_keys=["rule"],
        ),
    ] = msgspec.field(default=(), name="x-kubernetes-validations")
    metadata: Annotated[
        VariableMetadata, doc("Labels and annotations of the variable or of a part of it, for tools.")
    ] = msgspec.field(default=VariableMetadata(), name="x-metadata")
    int_or_string: Annotated[bool | None, doc("Whether the value may be an integer or a string.")] = msgspec.field(
        default=None, name="x-kubernetes-int-or-string"
    )
    all_of: Annotated[Any, doc("Schemas that the value must all match.")] = None
    one_of: Annotated[Any, doc("Schemas of which the value must match exactly one.")] = None
    any_of: Annotated[Any, doc("Schemas of which the value must match at least one.")] = None
    not_: Annotated[Any, doc("A schema that the value must not match.")] = msgspec.field(default=None, name="not")


class VariableSchemaHolder(Model):
    """The schema of a variable, under the name of its language."""

    open_api_v3_schema: Annotated[VariableSchema, doc("Which values the variable can have, in OpenAPI v3.")] = (
        msgspec.field(name="openAPIV3Schema")
    )


class ClassVariable(Model):
    """A variable of a class."""

    name: Annotated[str, doc("The name of the variable, by which patches use it.", minLength=1, maxLength=256)]
    required: Annotated[
        bool, doc("Whether a Cluster must give it a value. A default counts as one, except within an object.")
    ]
    deprecated_metadata: Annotated[
        VariableMetadata, doc("Labels and annotations of the variable, from v1beta1. Use x-metadata in its schema.")
    ] = msgspec.field(default=VariableMetadata(), name="deprecatedV1Beta1Metadata")
    schema: Annotated[VariableSchemaHolder, doc("Which values the variable can have.")]


class VariableDefinition(Model):
    """Where a variable comes from, and how it is defined there."""

    from_: Annotated[
        str,
        doc(
            "Where the definition comes from: inline for the class itself, else the name of the patch whose extension "
            "brings it.",
            minLength=1,
            maxLength=256,
        ),
    ] = msgspec.field(name="from")
    required: Annotated[bool, doc("Whether a Cluster must give it a value.")]
    deprecated_metadata: Annotated[VariableMetadata, doc("Labels and annotations of the variable, from v1beta1.")] = (
        msgspec.field(default=VariableMetadata(), name="deprecatedV1Beta1Metadata")
    )
    schema: Annotated[VariableSchemaHolder, doc("Which values the variable can have.")]


class StatusVariable(Model):
    """A variable that Clusters of the class can set."""

    name: Annotated[str, doc("The name of the variable.", minLength=1, maxLength=256)]
    definitions_conflict: Annotated[
        bool | None, doc("Whether it is defined in several places that do not agree. Then nobody can set it.")
    ] = None
    definitions: Annotated[
        tuple[VariableDefinition, ...],
        doc("Where it is defined, and how.", minItems=1, maxItems=100, list_type="atomic"),
    ]
