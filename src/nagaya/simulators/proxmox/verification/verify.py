"""Parameters of a call against the schema of its route.

`verify` says what is wrong with them, all at once; `accept` gives them as the code of the call sees them. Both first
undo what forms do to lists: an array where the schema wants a list in one string is joined, and a single value where it
wants an array is put into one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nagaya.simulators.proxmox.failure import ParameterFailure
from nagaya.simulators.proxmox.surface.schema import Schema
from nagaya.simulators.proxmox.verification.checking import Errors, check_object
from nagaya.simulators.proxmox.verification.values import Value, is_true, number_text, reference


def verify(schema: Schema, parameters: Mapping[str, Value]) -> dict[str, str]:
    """What is wrong, by parameter; empty if nothing is."""
    errors: Errors = {}
    check_object("", schema, _without_forms(schema, parameters), errors)
    return errors


def accept(schema: Schema, parameters: Mapping[str, Value]) -> dict[str, Any]:
    """The parameters, typed: integers are int, booleans bool, arrays lists, and all else is text, numbers too.

    PVE keeps the text of a number, and writes it into a configuration as it came. Raises ParameterFailure.
    """
    given = _without_forms(schema, parameters)
    errors: Errors = {}
    check_object("", schema, given, errors)
    if errors:
        raise ParameterFailure(errors)
    properties = schema.properties
    return {name: _typed(properties.get(name), value) for name, value in given.items()}


def _without_forms(schema: Schema, parameters: Mapping[str, Value]) -> Mapping[str, Value]:
    changed: dict[str, Value] = {}
    for name, value in parameters.items():
        found = schema.properties.get(name)
        if found is None or value is None:
            continue
        if isinstance(value, list | tuple):
            if found.type == "string" and isinstance(found.format, str) and found.format.endswith("-list"):
                changed[name] = ",".join(str(_text(item)) for item in value)
        elif found.type == "array" and reference(value) is None and is_true(str(_text(value))):
            changed[name] = [value]
    return {**parameters, **changed} if changed else parameters


def _typed(schema: Schema | None, value: Value) -> Any:
    if isinstance(value, Mapping):
        return {name: _typed(None, item) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        items = None if schema is None else schema.items
        return [_typed(items, item) for item in value]
    if value is None:
        return None
    wanted = None if schema is None else schema.type
    if wanted == "integer":
        return int(value)
    if wanted == "boolean":
        return value in (True, "1", 1)
    return _text(value)


def _text(value: Value) -> Value:
    if isinstance(value, bool):
        return "1" if value else "0"
    return number_text(value) if isinstance(value, int | float) else value
