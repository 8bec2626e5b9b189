"""What a definition's schema may say, besides being structural.

The schema dialect is a part of OpenAPI v3 with Kubernetes' extensions; each extension has its own demands on the
schema around it. Rules in the rule language are compiled last, and only where the schema itself is sound, since their
types come from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from nagaya.apiserver.crd import default_rules, field_paths, internal_form, prune, rule_costs, structural
from nagaya.apiserver.crd.rule_costs import RuleCosts
from nagaya.apiserver.crd.rules import RuleCompiler, RuleCost, RuleProblem
from nagaya.apiserver.crd.schema import Schema, SchemaTooDeepError, read
from nagaya.apiserver.meta.field_errors import (
    OMITTED,
    Cause,
    FieldError,
    Path,
    forbidden,
    internal,
    invalid,
    not_supported,
    required,
)
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import MISSING

_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
_REASONS: Final = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_ROOT_MEMBERS: Final = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
]


def check(
    raw: JsonObject, path: Path, *, status: bool, compile_rules: RuleCompiler | None, known: bool = False
) -> list[FieldError]:
    """What is wrong with the `openAPIV3Schema` of a version, which has a status subresource or not.

    The rules of a schema that is `known` from before may cost what they like.
    """
    try:
        schema = read(raw)
    except SchemaTooDeepError as error:
        return [invalid(path, "", str(error))]
    errors: list[FieldError] = []
    if status:
        errors += _check_root(raw, schema, path)
    if schema.nullable:
        errors.append(forbidden(path.child("nullable"), "nullable cannot be true at the root"))
    unsupported = structural.unsupported(schema)
    sound = False
    if not unsupported:
        found = structural.check(schema, path) or default_rules.check(schema, path, compile_rules)
        errors += found
        sound = not found
    checker = _Checker(compile_rules, known=known)
    checker.visit(schema, path, _Place(root=True, compiles=sound))
    errors += checker.errors + checker.rule_errors
    if unsupported and not errors:
        # Most of what cannot be supported has been refused by name.
        errors.append(invalid(path, "", unsupported))
    return errors if known else errors + checker.costs.all(path)


def _check_root(raw: JsonObject, schema: Schema, path: Path) -> list[FieldError]:
    """Only what can be taken apart: the schema of the status is used by itself."""
    for name, member in internal_form.MEMBER_NAMES:
        value = raw.get(member)
        if (
            value is None
            or value == ""
            or (value is False and member not in ("additionalProperties", "additionalItems"))
        ):
            continue
        if name == "Type" and schema.type != "object":
            detail = (
                'only "object" is allowed as the type at the root of the schema if the status subresource is enabled'
            )
            return [invalid(path.child("type"), schema.type, detail)]
        if name not in _ROOT_MEMBERS:
            allowed = " ".join(_ROOT_MEMBERS)
            detail = (
                f"only [{allowed}] fields are allowed at the root of the schema if the status subresource is enabled"
            )
            return [invalid(path, internal_form.schema(raw), detail)]
    return []


@dataclass(frozen=True, slots=True)
class _Place:
    """What the schemas around a node mean for it."""

    root: bool = False
    # Why defaults are not allowed here, if they are not.
    no_defaults: str = ""
    inside_meta: bool = False
    # The outermost list whose items cannot be matched with old ones.
    unmatched: Path | None = None
    compiles: bool = False
    # How many values there can be, if the schemas around limit that.
    values: int | None = 1


class _Checker:
    """Visits every node, collecting what is wrong with the schema apart from what is wrong with its rules."""

    def __init__(self, compile_rules: RuleCompiler | None, *, known: bool) -> None:
        self.errors: list[FieldError] = []
        self.rule_errors: list[FieldError] = []
        self.costs = RuleCosts()
        self._compile_rules = compile_rules
        self._known = known

    def visit(self, schema: Schema, path: Path, place: _Place) -> None:
        """Check a node after the nodes inside it, except for what is simply not supported."""
        before = len(self.errors)
        self.errors += _unsupported(schema, path, place)
        below = replace(place, root=False, values=rule_costs.inside(place.values, schema))
        self._visit_parts(schema, path, below, root=place.root)
        self.errors += _extensions(schema, path)
        if schema.rules:
            self.errors += _rule_members(schema, path.child("x-kubernetes-validations"))
            if place.compiles and len(self.errors) == before:
                self._check_rules(schema, path, place)

    def _visit_parts(self, schema: Schema, path: Path, place: _Place, *, root: bool) -> None:
        if schema.additional is not None:
            if schema.properties and schema.additional is not True:
                detail = "additionalProperties and properties are mutual exclusive"
                self.errors.append(forbidden(path.child("additionalProperties"), detail))
            if schema.values is not None:
                reason = "inside additionalProperties applying to object metadata" if place.inside_meta else ""
                below = replace(place, no_defaults=reason or place.no_defaults)
                self.visit(schema.values, path.child("additionalProperties"), below)
        for name in schema.property_names():
            below = place
            if (root or schema.embedded) and name in prune.TYPE_META:
                reason = f"in top-level {name}" if root else place.no_defaults
                below = replace(place, inside_meta=True, no_defaults=reason)
            self.visit(schema.properties[name], path.child("properties").key(name), below)
        in_junction = replace(place, compiles=False)
        if schema.negated is not None:
            self.visit(schema.negated, path.child("not"), in_junction)
        for member, schemas in (("allOf", schema.all_of), ("oneOf", schema.one_of), ("anyOf", schema.any_of)):
            for position, each in enumerate(schemas):
                self.visit(each, path.child(member).index(position), in_junction)
        matched = schema.list_type == "map"
        below = place if matched else replace(place, unmatched=place.unmatched or path)
        if schema.items is not None:
            self.visit(schema.items, path.child("items"), below)
        for position, each in enumerate(schema.item_list):
            self.visit(each, path.child("items").index(position), below)

    def _check_rules(self, schema: Schema, path: Path, place: _Place) -> None:
        where = path.child("x-kubernetes-validations")
        if self._compile_rules is None:
            self.rule_errors.append(internal(where, "this server cannot evaluate rules"))
            return
        rules = self._compile_rules(schema.raw, resource_root=place.root or schema.embedded)
        problems: dict[int, list[RuleProblem]] = {}
        for problem in rules.problems:
            if problem.cause is Cause.INTERNAL:
                self.rule_errors.append(FieldError(problem.cause, str(where), OMITTED, problem.detail))
                return
            problems.setdefault(problem.index, []).append(problem)
        transitions = rules.transitions
        most = rules.most_values if place.values is None else place.values
        costs = [RuleCost()] * len(schema.rules) if self._known else rules.costs()
        for position, rule in enumerate(schema.rules):
            at = where.index(position)
            self.rule_errors += self.costs.rule(at.child("rule"), costs[position].rule, most)
            for problem in problems.get(position, ()):
                value: Any = internal_form.rule(rule)
                self.rule_errors.append(FieldError(problem.cause, str(at.child(problem.member)), value, problem.detail))
            self.rule_errors += self.costs.message(at.child("messageExpression"), costs[position].message)
            if transitions[position]:
                if place.unmatched is not None:
                    detail = (
                        f"oldSelf cannot be used on the uncorrelatable portion of the schema within {place.unmatched}"
                    )
                    self.rule_errors.append(invalid(at.child("rule"), rule.get("rule"), detail))
            elif rule.get("optionalOldSelf") is not None:
                detail = "may not be set if oldSelf is not used in rule"
                self.rule_errors.append(invalid(at.child("optionalOldSelf"), rule["optionalOldSelf"], detail))


def _unsupported(schema: Schema, path: Path, place: _Place) -> Iterator[FieldError]:
    if schema.type and schema.type not in _TYPES:
        yield not_supported(path.child("type"), schema.type, _TYPES)
    if schema.default is not MISSING and place.no_defaults:
        yield forbidden(path.child("default"), f"must not be set {place.no_defaults}")
    if schema.has("id"):
        yield forbidden(path.child("id"), "id is not supported")
    for member in ("additionalItems", "patternProperties", "definitions", "dependencies", "$ref"):
        value = schema.raw.get(member)
        # A map may be empty; anything else counts as soon as it is there.
        if value is not None and (value or member not in ("patternProperties", "definitions")):
            yield forbidden(path.child(member), f"{member} is not supported")
    if schema.type == "null":
        yield forbidden(path.child("type"), "type cannot be set to null, use nullable as an alternative")
    if schema.item_list:
        yield forbidden(path.child("items"), "items must be a schema object and not an array")
    if place.inside_meta and schema.embedded:
        yield forbidden(path.child("x-kubernetes-embedded-resource"), "must not be used inside of resource meta")
    if schema.unique_items:
        detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(path.child("uniqueItems"), detail)


def _extensions(schema: Schema, path: Path) -> Iterator[FieldError]:
    if schema.preserve_unknown is False:
        yield invalid(path.child("x-kubernetes-preserve-unknown-fields"), False, "must be true or undefined")
    yield from _map_type(schema, path)
    yield from _list_type(schema, path)
    yield from _list_map(schema, path)
    yield from _matchable_items(schema, path)


def _type_demanded(schema: Schema, path: Path, expected: str, member: str) -> FieldError:
    detail = f"must be {expected} if {member} is specified"
    where = path.child("type")
    return invalid(where, schema.type, detail) if schema.type else required(where, detail)


def _map_type(schema: Schema, path: Path) -> Iterator[FieldError]:
    if schema.map_type is None:
        return
    if schema.type != "object":
        yield _type_demanded(schema, path, "object", "x-kubernetes-map-type")
    if schema.map_type not in ("atomic", "granular"):
        yield not_supported(path.child("x-kubernetes-map-type"), schema.map_type, ("atomic", "granular"))


def _list_type(schema: Schema, path: Path) -> Iterator[FieldError]:
    if schema.list_type is not None:
        if schema.type != "array":
            yield _type_demanded(schema, path, "array", "x-kubernetes-list-type")
        elif schema.list_type == "set" and schema.items is not None:
            items = schema.items
            detail = "must be atomic as item of a list with x-kubernetes-list-type=set"
            if items.type == "array" and items.list_type not in (None, "atomic"):
                yield invalid(path.child("items", "x-kubernetes-list-type"), items.list_type, detail)
            if items.type == "object" and items.map_type != "atomic":
                # The message shows the list type of the items, not their map type.
                yield invalid(path.child("items", "x-kubernetes-map-type"), items.list_type, detail)
        if schema.list_type not in ("atomic", "set", "map"):
            yield not_supported(path.child("x-kubernetes-list-type"), schema.list_type, ("atomic", "set", "map"))
    if schema.map_keys and schema.list_type != "map":
        where, detail = path.child("x-kubernetes-list-type"), "must be map if x-kubernetes-list-map-keys is non-empty"
        yield required(where, detail) if schema.list_type is None else invalid(where, schema.list_type, detail)


def _list_map(schema: Schema, path: Path) -> Iterator[FieldError]:
    if schema.list_type != "map":
        return
    items = schema.items
    keys = path.child("x-kubernetes-list-map-keys")
    if not schema.map_keys:
        yield required(keys, "must not be empty if x-kubernetes-list-type is map")
    if items is None and not schema.item_list:
        yield required(path.child("items"), "must have a schema if x-kubernetes-list-type is map")
    if schema.item_list:
        shown = internal_form.items(schema.raw["items"])
        yield invalid(path.child("items"), shown, "must only have a single schema if x-kubernetes-list-type is map")
    if items is None:
        return
    if items.type != "object":
        detail = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(path.child("items", "type"), items.type, detail)
        return
    seen: set[str] = set()
    for key in schema.map_keys:
        member = items.properties.get(key)
        if member is None:
            yield invalid(keys, schema.map_keys, "entries must all be names of item properties")
        elif member.type in ("array", "object"):
            where = path.child("items", "properties").key(key).child("type")
            yield invalid(where, items.type, "must be a scalar type if parent array's x-kubernetes-list-type is map")
        if key in seen:
            yield invalid(keys, schema.map_keys, "must not contain duplicate entries")
        seen.add(key)


def _matchable_items(schema: Schema, path: Path) -> Iterator[FieldError]:
    """Items can only be told apart if they, and their keys, are always there."""
    items = schema.items
    if items is None or schema.list_type not in ("set", "map"):
        return
    if items.nullable:
        detail = f"cannot be nullable when x-kubernetes-list-type is {schema.list_type}"
        yield forbidden(path.child("items", "nullable"), detail)
    if schema.list_type == "set":
        return
    for key in schema.map_keys:
        member = items.properties.get(key)
        if member is None:
            continue
        where = path.child("items", "properties").key(key)
        about = "this property is in x-kubernetes-list-map-keys, so it"
        if key not in items.required and member.default is MISSING:
            yield required(where.child("default"), f"{about} must have a default or be a required property")
        if member.nullable:
            yield forbidden(where.child("nullable"), f"{about} cannot be nullable")


_has_line_break = re.compile(r"[\n\r]").search


def _rule_members(schema: Schema, path: Path) -> Iterator[FieldError]:
    for position, rule in enumerate(schema.rules):
        at = path.index(position)
        text, message, expression, field_path = (
            rule.get(member) or "" for member in ("rule", "message", "messageExpression", "fieldPath")
        )
        if not text.strip():
            yield required(at.child("rule"), "rule is not specified")
        elif message and not message.strip():
            yield invalid(at.child("message"), message, "must be non-empty if specified")
        elif _has_line_break(message.strip()):
            yield invalid(at.child("message"), message, "must not contain line breaks")
        elif _has_line_break(text.strip()) and not message.strip():
            yield required(at.child("message"), "message must be specified if rule contains line breaks")
        if expression and not expression.strip():
            yield required(at.child("messageExpression"), "messageExpression must be non-empty if specified")
        reason = rule.get("reason")
        if reason is not None and reason not in _REASONS:
            yield not_supported(at.child("reason"), reason, _REASONS)
        if field_path:
            yield from _rule_field_path(schema, field_path, at.child("fieldPath"))


def _rule_field_path(schema: Schema, field_path: str, where: Path) -> Iterator[FieldError]:
    if not field_path.strip():
        yield invalid(where, field_path, "must be non-empty if specified")
    if _has_line_break(field_path):
        yield invalid(where, field_path, "must not contain line breaks")
    if not structural.unsupported(schema):
        try:
            field_paths.resolve(field_path, schema)
        except ValueError:
            yield invalid(where, field_path, "must be a valid path")
