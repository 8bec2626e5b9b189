"""Whether values are what a schema wants, and what PVE says if they are not.

PVE's rules look at one property after the other: its type, then its format, pattern, length, bounds and enumeration,
and stop at the first that fails, so each property has one complaint. All properties are looked at. A property string is
verified the same way, and its complaints become the text of one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nagaya.simulators.proxmox.surface.schema import Schema
from nagaya.simulators.proxmox.verification import formats
from nagaya.simulators.proxmox.verification.failure import FormatError
from nagaya.simulators.proxmox.verification.formats.kinds import Properties
from nagaya.simulators.proxmox.verification.values import Value, is_true, number_text, reference, split_list

Errors = dict[str, str]

MISSING = "property is missing and it is not optional"
UNDEFINED = "property is not defined in schema and the schema does not allow additional properties"

_INTEGER = re.compile(r"^[+-]?\d+$")
_NUMBER = re.compile(r"^[+-]?(\d+\.\d+|\d+\.|\.\d+|\d+)([eE][+-]?\d+)?$")
_TRUE = frozenset({"1", "on", "yes", "true"})
_FALSE = frozenset({"0", "off", "no", "false"})


def check_object(path: str, schema: Schema, given: Mapping[str, Value], errors: Errors) -> None:
    """All properties of an object."""
    prefix = f"{path}." if path else ""
    properties = schema.properties
    for name in schema.required:
        if given.get(name) is None:
            add_error(errors, prefix + name, MISSING)
    for name, value in given.items():
        if value is not None and (property_schema := properties.get(name)) is not None:
            check_value(prefix + name, property_schema, value, errors)
    for name, value in given.items():
        property_schema = properties.get(name)
        if property_schema is None:
            _check_undefined(prefix + name, schema.additional, value, errors)
        elif (required := property_schema.requires) is not None and given.get(required) is None:
            add_error(errors, prefix + required, f"missing property required by '{prefix}{name}'")


def _check_undefined(path: str, additional: bool | Schema | None, value: Value, errors: Errors) -> None:
    if additional is False:
        add_error(errors, path, UNDEFINED)
    elif isinstance(additional, Schema) and value is not None:
        check_value(path, additional, value, errors)


def check_value(path: str, schema: Schema, value: Value, errors: Errors) -> None:
    """A value that is there."""
    kind = reference(value)
    if kind is None:
        text = value if isinstance(value, str) else _scalar_text(value)
        complaint = _type_complaint(schema.type, text) or _scalar_complaint(path, schema, text)
        if complaint is not None:
            add_error(errors, path, complaint)
    elif (complaint := _reference_complaint(schema.type, kind)) is not None:
        add_error(errors, path, complaint)
    elif isinstance(value, Mapping):
        if schema.properties or schema.additional:
            check_object(path, schema, value, errors)
    elif isinstance(value, Sequence) and schema.items is not None:
        for index, item in enumerate(value):
            if item is None:
                add_error(errors, f"{path}[{index}]", MISSING)
            else:
                check_value(f"{path}[{index}]", schema.items, item, errors)


def add_error(errors: Errors, path: str, complaint: str) -> None:
    """A second complaint on the same property is put behind the first, with a backslash and an n between."""
    errors[path] = rf"{errors[path]}\n{complaint}" if path in errors else complaint


def _scalar_text(value: Value) -> str:
    if isinstance(value, int | float):
        return number_text(value)
    raise TypeError(f"{value!r} is no scalar")


def _type_complaint(wanted: str | None, text: str) -> str | None:
    if wanted is None or wanted == "string":
        return None
    if wanted in ("array", "object"):
        return f"type check ('{wanted}') failed"
    if (
        (wanted == "integer" and _INTEGER.match(text) is None)
        or (wanted == "boolean" and text not in ("0", "1"))
        or (wanted == "number" and _NUMBER.match(text) is None)
    ):
        return f"type check ('{wanted}') failed - got '{text}'"
    return "type check ('null') failed - value is not null" if wanted == "null" else None


def _reference_complaint(wanted: str | None, kind: str) -> str | None:
    if wanted in (None, "any") or (wanted, kind) in {
        ("array", "ARRAY"),
        ("object", "HASH"),
        ("boolean", "JSON::PP::Boolean"),
    }:
        return None
    if wanted == "null":
        return "type check ('null') failed - value is not null"
    return f"type check ('{wanted}') failed" + ("" if wanted in ("array", "object") else f" - got {kind}")


def _scalar_complaint(path: str, schema: Schema, text: str) -> str | None:
    if schema.format is not None:
        try:
            check_format(schema.format, text, path)
        except FormatError as error:
            return f"invalid format - {error.text}"
    if schema.matcher is not None and schema.matcher.match(text) is None:
        return "value does not match the regex pattern"
    if schema.max_length is not None and len(text) > schema.max_length:
        return f"value may only be {schema.max_length} characters long"
    if schema.min_length is not None and len(text) < schema.min_length:
        return f"value must be at least {schema.min_length} characters long"
    if (schema.maximum is not None or schema.minimum is not None) and _NUMBER.match(text) is not None:
        number = int(text) if _INTEGER.match(text) is not None else float(text)
        if schema.maximum is not None and number > schema.maximum:
            return f"value must have a maximum value of {number_text(schema.maximum)}"
        if schema.minimum is not None and number < schema.minimum:
            return f"value must have a minimum value of {number_text(schema.minimum)}"
    if schema.enum and text not in schema.enum:
        return f"value '{text}' does not have a value in the enumeration '{', '.join(schema.enum)}'"
    return None


def check_format(form: str | Schema, text: str, path: str = "") -> None:
    """A format by name or as a property string. A name can end in -list or -opt (empty is fine)."""
    if isinstance(form, Schema):
        parse(form, text, path)
        return
    if form == "regex":
        return
    name, many = form, form.endswith("-list")
    if many:
        name = form.removesuffix("-list")
    elif form.endswith("-opt"):
        if not is_true(text):
            return
        name = form.removesuffix("-opt")
    found = formats.find(name)
    if found is None:
        raise FormatError(f"undefined format '{form}'\n")
    if isinstance(found, formats.PropertyFormat):
        if name != form:
            raise FormatError(f"'-{form.rpartition('-')[2]}' format must have code ref, not hash\n")
        parse(found, text, path)
    elif many:
        for item in split_list(text):
            found(item)
    else:
        found(text)


def parse(form: str | Schema | formats.PropertyFormat, text: str, path: str = "") -> Properties:
    """The properties of a property string. `path` is what complaints name them by."""
    if isinstance(form, str):
        found = formats.find(form)
        if not isinstance(found, formats.PropertyFormat):
            raise FormatError(f"unknown format: {form}\n")
        form = found
    schema = form.schema if isinstance(form, formats.PropertyFormat) else form
    properties = _split(schema, text)
    errors: Errors = {}
    check_object(path, schema, properties, errors)
    if errors:
        raise FormatError("format error\n" + "".join(f"{name}: {errors[name]}\n" for name in sorted(errors)))
    if isinstance(form, formats.PropertyFormat) and form.validate is not None:
        return form.validate(properties)
    return properties


def _split(schema: Schema, text: str) -> Properties:
    result: Properties = {}
    bare_seen = False
    for part in text.split(","):
        if not part.strip():
            continue
        if "\n" in part:
            raise FormatError("properties must not contain newlines\n")
        key, equals, value = part.partition("=")
        if not equals:
            bare = schema.bare_key
            if bare is None:
                raise FormatError("value without key, but schema does not define a default key\n")
            if bare_seen or result.get(bare) not in (None, "", "0", False):
                raise FormatError(f"duplicate key in comma-separated list property: {bare}\n")
            bare_seen = True
            result[bare] = _typed(schema.properties[bare], part)
        elif not key or not value:
            raise FormatError("missing key in comma-separated list property\n")
        else:
            _take(schema, result, key, value)
    return result


def _take(schema: Schema, result: Properties, key: str, value: str) -> None:
    if key in result:
        raise FormatError(f"duplicate key in comma-separated list property: {key}\n")
    found = schema.properties.get(key)
    if found is not None and found.alias is not None:
        if found.key_alias is not None:
            if found.key_alias in result:
                raise FormatError(f"key alias '{found.key_alias}' is already defined\n")
            result[found.key_alias] = key
        key = found.alias
        found = schema.properties.get(key)
    result[key] = value if found is None else _typed(found, value)


def _typed(schema: Schema, text: str) -> str | bool:
    if schema.type == "boolean":
        lower = text.lower()
        if lower in _TRUE:
            return True
        if lower in _FALSE:
            return False
    return text
