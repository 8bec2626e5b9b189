"""Which defaults a schema may have: they must be what the schema itself would let pass.

A default must hold no unknown field, have readable metadata where it is a whole object, be valid, and satisfy the
rules around it, both as a new value and as one that stays the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from nagaya.apiserver.crd import accept, embedded, prune, rule_walk
from nagaya.apiserver.crd.explain import explain
from nagaya.apiserver.crd.rules import RuleCompiler
from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import MISSING

# Builds the smallest whole object that has a value at a certain place.
Surround = Callable[[Any], Any]

_TYPE_META: Final = {"apiVersion": "validation/v1", "kind": "Validation"}


def check(schema: Schema, path: Path, compile_rules: RuleCompiler | None) -> list[FieldError]:
    """What is wrong with the defaults of a structural schema."""
    return list(_Checker(compile_rules).visit(schema, path, schema, _whole, inside_meta=False, resource_root=True))


def _whole(value: Any) -> JsonObject:
    return {**_TYPE_META, **value} if isinstance(value, dict) else dict(_TYPE_META)


class _Checker:
    def __init__(self, compile_rules: RuleCompiler | None) -> None:
        self._compile_rules = compile_rules

    def visit(
        self,
        schema: Schema,
        path: Path,
        root: Schema,
        surround: Surround,
        *,
        inside_meta: bool,
        resource_root: bool = False,
    ) -> Iterator[FieldError]:
        """`root` is the nearest whole object around; `surround` leads from a value here to such an object."""
        whole = schema.embedded or resource_root
        if whole:
            inside_meta, root, surround = False, schema, _whole
        if schema.default is not MISSING:
            if inside_meta:
                yield from self._check_inside_meta(schema, path.child("default"), root, surround)
            else:
                yield from self._check_value(schema, path.child("default"), whole)
        # Defaults below additionalProperties are not followed; nobody could leave such a value out.
        if schema.items is not None:
            yield from self.visit(
                schema.items, path.child("items"), root, lambda value: surround([value]), inside_meta=inside_meta
            )
        for name in schema.property_names():
            yield from self.visit(
                schema.properties[name],
                path.child("properties").key(name),
                root,
                _under(surround, name),
                inside_meta=inside_meta or (whole and name in prune.TYPE_META),
            )

    def _check_inside_meta(self, schema: Schema, path: Path, root: Schema, surround: Surround) -> Iterator[FieldError]:
        obj = surround(schema.default)
        try:
            obj = _coerce_whole(obj, root)
        except embedded.MalformedResourceError as error:
            yield invalid(path, schema.default, f"must result in valid metadata: {error}")
            return
        validate = embedded.compile_validation(root, resource_root=True)
        errors = validate(obj, Path()) if validate is not None else []
        if errors:
            text = status.aggregate([str(error) for error in errors])
            yield invalid(path, schema.default, f"must result in valid metadata: {text}")
            return
        yield from self._check_schema(schema, path, whole=False)

    def _check_value(self, schema: Schema, path: Path, whole: bool) -> Iterator[FieldError]:
        default = schema.default
        if prune.unknown_fields(default, schema, resource_root=whole):
            yield invalid(path, default, "must not have unknown fields")
        coerce = embedded.compile_coercion(schema)
        if coerce is not None:
            try:
                coerce(default, path, embedded.Reading())
            except embedded.MalformedResourceError as error:
                yield error.finding
                return
        validate = embedded.compile_validation(schema, resource_root=whole)
        errors = validate(default, path) if validate is not None else []
        if errors:
            yield from errors
            return
        yield from self._check_schema(schema, path, whole=whole)

    def _check_schema(self, schema: Schema, path: Path, *, whole: bool) -> Iterator[FieldError]:
        default = schema.default
        if not accept.compile_schema(schema, as_written=True)(default):
            yield from explain(schema, default, path, as_written=True)
            return
        if self._compile_rules is None:
            return
        tree = rule_walk.compile_schema(schema, self._compile_rules, resource_root=whole)
        if tree is None:
            return
        for old in (default, MISSING):
            walk = rule_walk.RuleWalk()
            walk.check(tree, default, old, path)
            yield from walk.errors
            if walk.errors:
                return


def _under(surround: Surround, name: str) -> Surround:
    return lambda value: surround({name: value})


def _coerce_whole(obj: JsonObject, root: Schema) -> JsonObject:
    as_embedded = Schema(raw=root.raw, embedded=True, properties=root.properties, items=root.items)
    coerce = embedded.compile_coercion(as_embedded)
    assert coerce is not None
    coerced: JsonObject = coerce(obj, Path(), embedded.Reading())
    return coerced
