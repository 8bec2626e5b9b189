"""All the rules for the objects of one version of a definition, in the order in which the real server checks them.

Metadata's own rules are checked by the caller and handed in as `before`: they come first in the answer, and rules in
the rule language are not evaluated while an object has errors that could make them misleading.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from nagaya.apiserver.crd import accept, embedded, list_types, rule_walk, scale
from nagaya.apiserver.crd.explain import explain
from nagaya.apiserver.crd.ratchet import Correlation
from nagaya.apiserver.crd.rules import NOT_CHECKED, RuleCompiler
from nagaya.apiserver.crd.scale import ScalePaths
from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.meta.field_errors import Cause, FieldError, Path, invalid
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.types import MISSING

_ROOT: Final = Path()
_STATUS: Final = Path("status")
# With these, a rule could fail for a reason that has nothing to do with what it says.
_BLOCKING: Final = frozenset({Cause.NOT_SUPPORTED, Cause.REQUIRED, Cause.TOO_LONG, Cause.TOO_MANY, Cause.TYPE_INVALID})


class Validator:
    """A schema compiled for validation. Safe to share; keeps nothing between calls."""

    def __init__(
        self, schema: Schema, compile_rules: RuleCompiler | None = None, scale_paths: ScalePaths | None = None
    ) -> None:
        self._schema = schema
        self._accepts = accept.compile_schema(schema)
        self._status = schema.properties.get("status")
        self._accepts_status = accept.compile_schema(self._status) if self._status is not None else None
        self._embedded = embedded.compile_validation(schema)
        self._duplicates = list_types.compile_schema(schema)
        self._rules = (
            rule_walk.compile_schema(schema, compile_rules, resource_root=True) if compile_rules is not None else None
        )
        self._scale = scale_paths

    def validate(self, obj: JsonObject, before: Sequence[FieldError] = ()) -> list[FieldError]:
        """What is wrong with a new object."""
        errors = list(before)
        if not self._accepts(obj):
            errors += explain(self._schema, obj)
        errors += self._scale_errors(obj)
        if self._embedded is not None:
            errors += self._embedded(obj, _ROOT)
        if self._duplicates is not None:
            errors += self._duplicates(obj, _ROOT)
        self._check_rules(obj, MISSING, None, errors, None)
        return errors

    def validate_update(
        self,
        new: JsonObject,
        old: JsonObject,
        before: Sequence[FieldError] = (),
        warnings: list[str] | None = None,
    ) -> list[FieldError]:
        """What is wrong with a changed object. What the update leaves alone may be invalid.

        Rules that do not hold for such parts are added to `warnings`.
        """
        errors = list(before)
        correlation = Correlation(new, old, self._schema)
        if not self._accepts(new):
            errors += explain(self._schema, new, correlation=correlation)
        errors += self._scale_errors(new)
        if self._embedded is not None:
            errors += self._embedded(new, _ROOT)
        errors += self._new_duplicates(new, old)
        self._check_rules(new, old, correlation, errors, warnings)
        return errors

    def validate_status_update(
        self,
        new: JsonObject,
        old: JsonObject,
        before: Sequence[FieldError] = (),
        warnings: list[str] | None = None,
    ) -> list[FieldError]:
        """What is wrong with an object whose status changed. Only the status is checked, but all rules are."""
        errors = list(before)
        correlation = Correlation(new, old, self._schema)
        if self._status is not None and self._accepts_status is not None and "status" in new:
            status = new["status"]
            if not self._accepts_status(status):
                matched = correlation.key("status") or Correlation(status, old.get("status"), self._status)
                errors += explain(self._status, status, _STATUS, correlation=matched)
        if self._scale is not None:
            errors += scale.validate_status(new, self._scale)
        errors += self._new_duplicates(new, old)
        self._check_rules(new, old, correlation, errors, warnings)
        return errors

    def _scale_errors(self, obj: JsonObject) -> list[FieldError]:
        if self._scale is None:
            return []
        return [*scale.validate_spec(obj, self._scale), *scale.validate_status(obj, self._scale)]

    def _new_duplicates(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Duplicates in the new object, unless the old one had any."""
        if self._duplicates is None:
            return []
        found = self._duplicates(new, _ROOT)
        return found if found and not self._duplicates(old, _ROOT) else []

    def _check_rules(
        self,
        obj: JsonObject,
        old: Any,
        correlation: Correlation | None,
        errors: list[FieldError],
        warnings: list[str] | None,
    ) -> None:
        if self._rules is None:
            return
        if any(error.cause in _BLOCKING for error in errors):
            errors.append(invalid(_ROOT, None, NOT_CHECKED))
            return
        walk = rule_walk.RuleWalk()
        walk.check(self._rules, obj, old, _ROOT, correlation)
        errors += walk.errors
        if warnings is not None:
            warnings += walk.warnings
