"""Why a value is not valid by a schema, in the real server's words and order.

This follows the validator that Kubernetes uses step by step, including what it reports when none of several
alternatives fits: the complaints of the alternative that passed the most checks, for which every step counts the
checks that passed. It runs only after `accept` said no.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from nagaya.apiserver.crd import accept, formats, patterns, value_checks
from nagaya.apiserver.crd.ratchet import Correlation
from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.crd.value_checks import Typing
from nagaya.apiserver.meta import field_errors, gostring
from nagaya.apiserver.meta.field_errors import FieldError, Path

_NOWHERE: Final = Path()


class Finding(NamedTuple):
    """One complaint. Two with the same message are one. `name` is empty if it is not about a single field."""

    message: str
    name: str
    build: Callable[[Path], FieldError]


class Outcome:
    """What was found in a value, and how many checks it passed."""

    __slots__ = ("findings", "passed")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.passed = 0

    def add(self, other: Outcome) -> None:
        """Take over what was found in a part."""
        self.findings += other.findings
        self.passed += other.passed


def explain(
    schema: Schema,
    value: Any,
    path: Path = _NOWHERE,
    *,
    correlation: Correlation | None = None,
    as_written: bool = False,
) -> list[FieldError]:
    """Every error in a value. With a correlation, what did not change is tolerated."""
    outcome = _Explainer(as_written).value(schema, value, "", correlation)
    unique = {finding.message: finding for finding in reversed(outcome.findings)}
    return [
        finding.build(path.child(finding.name.removeprefix(".")) if finding.name not in ("", ".") else path)
        for finding in outcome.findings
        if unique.pop(finding.message, None) is not None
    ]


_STEPS: Final = 200_000
_STEP: Final = 10  # characters of findings that count like a step
Part = tuple[Any, str, Correlation | None]


class _Explainer:
    """Walks a value. Items that are valid are passed over, and no more are looked into after many steps or findings."""

    def __init__(self, as_written: bool) -> None:
        self._as_written = as_written
        self._steps_left = _STEPS
        self._junctions_above = 0

    def _parts(self, schema: Schema, outcome: Outcome, parts: Iterable[Part]) -> None:
        """Items of a list or entries of a map, each with its path and what it is matched with."""
        # Inside junctions all of them count: the alternative that passes the most checks is the one that is explained.
        accepts = accept.compile_schema(schema, as_written=self._as_written) if self._junctions_above == 0 else None
        for part, path, correlation in parts:
            if self._steps_left < 0 and outcome.findings:
                return
            if accepts is None or not accepts(part):
                found = self.value(schema, part, path, correlation)
                self._steps_left -= sum(len(finding.message) for finding in found.findings) // _STEP
                outcome.add(found)

    def value(self, schema: Schema, value: Any, path: str, correlation: Correlation | None) -> Outcome:
        """A value with its parts. What an update did not change is not held against it."""
        outcome = self._steps(schema, value, path, correlation)
        if outcome.findings and correlation is not None and correlation.unchanged:
            outcome.findings = []
        return outcome

    def _steps(self, schema: Schema, value: Any, path: str, correlation: Correlation | None) -> Outcome:
        outcome = Outcome()
        self._steps_left -= 1
        typing = value_checks.typing_of(schema, as_written=self._as_written)
        problem = value_checks.type_problem(typing, value)
        if problem is not None:
            outcome.findings.append(_type(path, *problem))
        if value is None:
            outcome.passed = 0 if problem else 1
            outcome.findings += _enum(schema, value, path)
            return outcome
        if typing.types or typing.format:
            outcome.passed += 1 if problem else 2
        outcome.add(self._junctions(schema, value, path))
        outcome.passed += 1
        if isinstance(value, str):
            outcome.findings += _string(schema, value, path)
            outcome.passed += 1
            if typing.format and (check := formats.check_for(typing.format)) is not None:
                if not check(value):
                    outcome.findings.append(_type(path, typing.format, value))
                outcome.passed += 1
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            outcome.findings += _number(schema, typing, value, path)
            outcome.passed += 2
        elif isinstance(value, list):
            outcome.add(self._list(schema, value, path, correlation))
            outcome.passed += 1
        outcome.findings += _enum(schema, value, path)
        outcome.passed += 1
        if isinstance(value, dict):
            outcome.add(self._object(schema, value, path, correlation))
            outcome.passed += 1
        outcome.passed += 1
        return outcome

    def _junctions(self, schema: Schema, value: Any, path: str) -> Outcome:
        # Inside junctions nothing is matched with the old object.
        outcome = Outcome()
        self._junctions_above += 1
        if schema.any_of:
            self._any_of(schema.any_of, value, path, outcome)
        if schema.one_of:
            self._one_of(schema.one_of, value, path, outcome)
        if schema.all_of:
            results = [self.value(each, value, path, None) for each in schema.all_of]
            for result in results:
                outcome.add(result)
            failed = sum(bool(result.findings) for result in results)
            if failed:
                none = ". None validated" if failed == len(results) else ""
                outcome.findings.append(_overall(path, f"must validate all the schemas (allOf){none}"))
        if schema.negated is not None and not self.value(schema.negated, value, path, None).findings:
            outcome.findings.append(_overall(path, "must not validate the schema (not)"))
        self._junctions_above -= 1
        outcome.passed += 1
        return outcome

    def _any_of(self, schemas: list[Schema], value: Any, path: str, outcome: Outcome) -> None:
        best: Outcome | None = None
        for each in schemas:
            result = self.value(each, value, path, None)
            if not result.findings:
                outcome.add(result)
                return
            if best is None or result.passed > best.passed:
                best = result
        outcome.findings.append(_overall(path, "must validate at least one schema (anyOf)"))
        if best is not None:
            outcome.add(best)

    def _one_of(self, schemas: list[Schema], value: Any, path: str, outcome: Outcome) -> None:
        results = [self.value(each, value, path, None) for each in schemas]
        valid = [result for result in results if not result.findings]
        if len(valid) == 1:
            outcome.add(valid[0])
            return
        found = f"Found {len(valid)} valid alternatives" if valid else "Found none valid"
        outcome.findings.append(_overall(path, f"must validate one and only one schema (oneOf). {found}"))
        if not valid:
            outcome.add(max(results, key=lambda result: result.passed))

    def _list(self, schema: Schema, value: list[Any], path: str, correlation: Correlation | None) -> Outcome:
        outcome = Outcome()
        if schema.items is not None:
            items = (
                (item, f"{path}[{at}]", correlation.index(at) if correlation is not None else None)
                for at, item in enumerate(value)
            )
            self._parts(schema.items, outcome, items)
        size = len(value)
        if schema.min_items is not None and size < schema.min_items:
            outcome.findings.append(_invalid(path, size, f"should have at least {schema.min_items} items"))
        if (most := schema.max_items) is not None and size > most:
            outcome.findings.append(_too_many(path, size, most, f"should have at most {most} items"))
        outcome.passed += 1
        return outcome

    def _object(self, schema: Schema, value: dict[str, Any], path: str, correlation: Correlation | None) -> Outcome:
        outcome = Outcome()
        size = len(value)
        if schema.min_properties is not None and size < schema.min_properties:
            outcome.findings.append(_invalid(path, size, f"should have at least {schema.min_properties} properties"))
        if (most := schema.max_properties) is not None and size > most:
            outcome.findings.append(_too_many(path, size, most, f"should have at most {most} properties"))
        others = sorted(value.keys() - schema.properties.keys())
        if schema.additional is False:
            for name in others:
                message = f"{path}.{name} in body is a forbidden property"
                outcome.findings.append(_said(path, name, message))
        elif schema.values is not None:
            entries = ((value[name], f"{path}.{name}", _matched(correlation, name, path)) for name in others)
            self._parts(schema.values, outcome, entries)
        for name in schema.property_names():
            if name in value:
                matched = _matched(correlation, name, path)
                place = f"{path}.{name}" if path else name
                outcome.add(self.value(schema.properties[name], value[name], place, matched))
        for name in schema.required:
            if name not in value:
                place = f"{path}.{name}"
                outcome.findings.append(Finding(f"{place} in body is required", place, field_errors.required))
        return outcome


def _matched(correlation: Correlation | None, name: str, path: str) -> Correlation | None:
    # Both objects were converted to the requested version, so an unchanged kind or apiVersion says nothing.
    if correlation is None or (not path and name in ("kind", "apiVersion")):
        return None
    return correlation.key(name)


def _said(path: str, value: Any, message: str) -> Finding:
    return Finding(message, path, lambda where: field_errors.invalid(where, value, message))


def _invalid(path: str, value: Any, complaint: str) -> Finding:
    return _said(path, value, f"{path} in body {complaint}")


def _overall(path: str, complaint: str) -> Finding:
    message = f"{gostring.quote(path)} {complaint}"
    return Finding(message, "", lambda where: field_errors.invalid(where, "", message))


def _type(path: str, expected: str, found: str) -> Finding:
    message = f"{path} in body must be of type {expected}: {gostring.quote(found)}"
    return Finding(message, path, lambda where: field_errors.type_invalid(where, found, message))


def _too_many(path: str, size: int, most: int, complaint: str) -> Finding:
    return Finding(f"{path} in body {complaint}", path, lambda where: field_errors.too_many(where, size, most))


def _enum(schema: Schema, value: Any, path: str) -> Iterable[Finding]:
    if not schema.enum or value_checks.enum_has(schema.enum, value):
        return []
    listed = [each if isinstance(each, str) else gostring.json(each) for each in schema.enum]
    message = f"{path} in body should be one of {listed}"
    return [Finding(message, path, lambda where: field_errors.not_supported(where, value, listed))]


def _string(schema: Schema, value: str, path: str) -> Iterable[Finding]:
    if (most := schema.max_length) is not None and len(value) > most:
        message = f"{path} in body should be at most {most} chars long"
        return [Finding(message, path, lambda where: field_errors.too_long(where, most))]
    if schema.min_length is not None and len(value) < schema.min_length:
        return [_invalid(path, value, f"should be at least {schema.min_length} chars long")]
    if schema.pattern:
        try:
            if not patterns.compiled(schema.pattern)(value):
                return [_invalid(path, value, f"should match '{schema.pattern}'")]
        except ValueError as error:
            return [_invalid(path, value, f"should match '{schema.pattern}, but pattern is invalid: {error}'")]
    return []


def _number(schema: Schema, typing: Typing, value: float, path: str) -> Iterable[Finding]:
    if not value_checks.fits_range(value, *typing.number):
        yield _out_of_range("Checked", typing, path)
    if schema.multiple_of is not None:
        native = value_checks.fits_range(schema.multiple_of, *typing.number)
        if not native:
            yield _out_of_range("MultipleOf", typing, path)
        factor = value_checks.factor_for(value, schema.multiple_of, native=native)
        if factor <= 0:
            message = f"factor MultipleOf declared for {path} must be positive: {gostring.number(factor)}"
            yield _said(path, factor, message)
        elif not value_checks.is_multiple(value, factor):
            yield _invalid(path, _shown(value, native), f"should be a multiple of {gostring.number(factor)}")
    if schema.minimum is not None:
        yield from _bound(schema, typing, value, path, top=False)
    if schema.maximum is not None:
        yield from _bound(schema, typing, value, path, top=True)


def _bound(schema: Schema, typing: Typing, value: float, path: str, *, top: bool) -> Iterable[Finding]:
    bound, exclusive = (schema.maximum, schema.exclusive_maximum) if top else (schema.minimum, schema.exclusive_minimum)
    assert bound is not None
    native = value_checks.fits_range(bound, *typing.number)
    if not native:
        yield _out_of_range("Maximum boundary" if top else "Minimum boundary", typing, path)
    broken = value_checks.exceeds if top else value_checks.undercuts
    if broken(value, bound, exclusive=exclusive, native=native):
        shown = gostring.number(int(bound) if native and isinstance(value, int) else bound)
        relation = "less than" if top else "greater than"
        relation = relation if exclusive else f"{relation} or equal to"
        yield _invalid(path, _shown(value, native), f"should be {relation} {shown}")


def _shown(value: float, native: bool) -> float:
    # A bound that the schema's own type cannot hold is compared, and shown, in floating point.
    return value if native else float(value)


def _out_of_range(subject: str, typing: Typing, path: str) -> Finding:
    type_name, format_name = typing.number
    form = f"with format {format_name}" if format_name else "(default format)"
    message = f"{subject} value must be of type {type_name} {form} in {path}"
    return Finding(message, "", lambda where: field_errors.invalid(where, "", message))
