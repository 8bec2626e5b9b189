"""A schema compiled into one question: is this value valid?

Nearly every object that is written is valid, so this is the path that has to be fast. It says only yes or no; when the
answer is no, `explain` walks the same schema again and finds the words. The two agree on every value (a property test
holds them to it), because both ask the questions in `value_checks`.

A node becomes a `Gate`: the Python type its values normally have, the check for values of that type (None if there is
nothing to check), and the checks for values of every other type.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

from nagaya.apiserver.crd import formats, patterns, value_checks
from nagaya.apiserver.crd.schema import Schema
from nagaya.apiserver.crd.value_checks import Typing

Check = Callable[[Any], bool]


class Gate(NamedTuple):
    """How values enter a node."""

    usual: type
    check: Check | None
    # Only types that can be valid are listed.
    others: dict[type, Check | None]


def _never(value: Any) -> bool:
    return False


def compile_schema(schema: Schema, *, as_written: bool = False) -> Check:
    """The question whether a value is valid by this schema."""
    return _as_check(_gate(schema, as_written))


def _as_check(gate: Gate) -> Check:
    usual, check, others = gate
    if not others:
        return _always(usual) if check is None else _only(usual, check)
    table = {**others, usual: check}

    def accepts(value: Any) -> bool:
        found = table.get(type(value), _never)
        return found is None or found(value)

    return accepts


def _always(usual: type) -> Check:
    return lambda value: type(value) is usual


def _only(usual: type, check: Check) -> Check:
    return lambda value: type(value) is usual and check(value)


_SAMPLES: Final[dict[type, Any]] = {str: "", int: 0, bool: False, list: [], dict: {}}
_USUAL: Final = {"string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict}


def _gate(schema: Schema, as_written: bool) -> Gate:
    typing = value_checks.typing_of(schema, as_written=as_written)
    table: dict[type, Check | None] = {}
    junctions = _junctions(schema, as_written)
    for kind, sample in _SAMPLES.items():
        if value_checks.type_problem(typing, sample) is None:
            table[kind] = _all([*junctions, *_checks_for(kind, schema, typing, as_written)])
    if float_check := _float_type(typing):
        table[float] = _all([*float_check, *junctions, *_checks_for(float, schema, typing, as_written)])
    if value_checks.type_problem(typing, None) is None and not schema.enum:
        table[type(None)] = None
    table = {kind: check for kind, check in table.items() if check is not _never}
    usual = _USUAL.get(typing.types[0], object) if typing.types else object
    check = table.pop(usual, _never)
    return Gate(usual, check, table)


def _float_type(typing: Typing) -> list[Check]:
    whole_ok = value_checks.type_problem(typing, 1.0) is None
    fraction_ok = value_checks.type_problem(typing, 1.5) is None
    if fraction_ok:
        return [_pass]
    return [value_checks.is_whole] if whole_ok else []


def _pass(value: Any) -> bool:
    return True


def _all(checks: list[Check]) -> Check | None:
    checks = [check for check in checks if check is not _pass]
    if not checks:
        return None
    if _never in checks:
        return _never
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)
    steps = tuple(checks)

    def all_hold(value: Any) -> bool:
        for step in steps:  # noqa: SIM110  (a generator would double the time)
            if not step(value):
                return False
        return True

    return all_hold


def _checks_for(kind: type, schema: Schema, typing: Typing, as_written: bool) -> list[Check]:
    checks: list[Check] = []
    if kind is str:
        checks += _string_checks(schema, typing)
    elif kind in (int, float):
        checks += _number_checks(schema, typing, whole=kind is int)
    if schema.enum:
        checks.append(_enum_check(schema.enum, kind))
    if kind is list:
        checks += _list_checks(schema, as_written)
    elif kind is dict:
        checks += _object_checks(schema, as_written)
    return checks


def _length_checks(least: int | None, most: int | None) -> list[Check]:
    low = least or 0
    if most is not None:
        return [lambda value: low <= len(value) <= most]
    return [lambda value: len(value) >= low] if low > 0 else []


def _string_checks(schema: Schema, typing: Typing) -> list[Check]:
    checks = _length_checks(schema.min_length, schema.max_length)
    if schema.pattern:
        try:
            checks.append(patterns.compiled(schema.pattern))
        except ValueError:
            checks.append(_never)
    if typing.format and (check := formats.check_for(typing.format)):
        checks.append(check)
    return checks


def _number_checks(schema: Schema, typing: Typing, *, whole: bool) -> list[Check]:
    type_name, format_name = typing.number
    checks: list[Check] = []
    if type_name == "integer" or format_name == "float":
        checks.append(lambda value: value_checks.fits_range(value, type_name, format_name))
    for bound in (schema.maximum, schema.minimum, schema.multiple_of):
        if bound is not None and not value_checks.fits_range(bound, type_name, format_name):
            return [_never]
    if (top := schema.maximum) is not None:
        limit, exclusive = int(top) if whole else top, schema.exclusive_maximum
        checks.append(lambda value: value < limit or (value == limit and not exclusive))
    if (bottom := schema.minimum) is not None:
        least, strict = int(bottom) if whole else bottom, schema.exclusive_minimum
        checks.append(lambda value: value > least or (value == least and not strict))
    if schema.multiple_of is not None:
        factor = int(schema.multiple_of) if whole else schema.multiple_of
        checks.append((lambda value: value_checks.is_multiple(value, factor)) if factor > 0 else _never)
    return checks


def _enum_check(enum: list[Any], kind: type) -> Check:
    if kind is str and all(isinstance(each, str) for each in enum):
        return frozenset(enum).__contains__
    return lambda value: value_checks.enum_has(enum, value)


def _junctions(schema: Schema, as_written: bool) -> list[Check]:
    checks: list[Check] = []
    if schema.any_of:
        any_of = [compile_schema(each, as_written=as_written) for each in schema.any_of]
        checks.append(lambda value: any(accepts(value) for accepts in any_of))
    if schema.one_of:
        one_of = [compile_schema(each, as_written=as_written) for each in schema.one_of]
        checks.append(lambda value: sum(accepts(value) for accepts in one_of) == 1)
    checks += [compile_schema(each, as_written=as_written) for each in schema.all_of]
    if schema.negated is not None:
        negated = compile_schema(schema.negated, as_written=as_written)
        checks.append(lambda value: not negated(value))
    return checks


def _list_checks(schema: Schema, as_written: bool) -> list[Check]:
    checks = _length_checks(schema.min_items, schema.max_items)
    if schema.items is not None:
        checks.append(_each_item(_gate(schema.items, as_written)))
    return checks


def _each_item(gate: Gate) -> Check:
    usual, check, others = gate

    def items_accepted(value: list[Any]) -> bool:
        for item in value:
            if type(item) is usual:
                if check is not None and not check(item):
                    return False
            else:
                other = others.get(type(item), _never)
                if other is not None and not other(item):
                    return False
        return True

    return items_accepted


def _object_checks(schema: Schema, as_written: bool) -> list[Check]:
    checks = _length_checks(schema.min_properties, schema.max_properties)
    if schema.required:
        required = frozenset(schema.required)
        checks.append(lambda value: value.keys() >= required)
    gates = {name: _gate(each, as_written) for name, each in schema.properties.items()}
    if schema.additional is False:
        known = frozenset(gates)
        checks.append(lambda value: value.keys() <= known)
    rest = _gate(schema.values, as_written) if schema.values is not None else None
    if gates or rest is not None:
        checks.append(_each_member(gates, rest))
    return checks


def _each_member(gates: dict[str, Gate], rest: Gate | None) -> Check:
    gate_of = gates.get

    def members_accepted(value: dict[str, Any]) -> bool:
        for name, member in value.items():
            gate = gate_of(name, rest)
            if gate is None:
                continue
            usual, check, others = gate
            if type(member) is usual:
                if check is not None and not check(member):
                    return False
            else:
                other = others.get(type(member), _never)
                if other is not None and not other(member):
                    return False
        return True

    return members_accepted
