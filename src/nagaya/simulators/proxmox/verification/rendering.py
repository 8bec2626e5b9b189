"""Property strings in PVE's canonical order: the part without a key, then what must be there, then the rest by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nagaya.simulators.proxmox.surface.schema import Schema
from nagaya.simulators.proxmox.verification import formats
from nagaya.simulators.proxmox.verification.failure import FormatError
from nagaya.simulators.proxmox.verification.sizes import format_size

Printable = str | int | float | bool | None


def render(properties: Mapping[str, Printable], form: str | Schema, skip: Iterable[str] = ()) -> str:
    """The string for properties, of which those that are None or in `skip` are left out. A size can be bytes."""
    schema = _schema(form)
    parts: list[str] = []
    done = set(skip)

    def add(key: str) -> None:
        value = properties.get(key)
        if key in done or value is None:
            return
        done.add(key)
        paired = schema.paired_keys.get(key)
        if paired is not None and (other := properties.get(paired)) is not None:
            done.add(paired)
            parts.append(f"{_text(schema, key, value)}={_text(schema, paired, other)}")
        elif key == schema.bare_key:
            parts.append(_text(schema, key, value))
        else:
            parts.append(f"{key}={_text(schema, key, value)}")

    if schema.bare_key is not None:
        add(schema.bare_key)
    names = sorted(properties)
    for name in names:
        found = schema.properties.get(name)
        if found is not None and not found.optional:
            add(name)
    for name in names:
        add(name)
    return ",".join(parts)


def _schema(form: str | Schema) -> Schema:
    if isinstance(form, Schema):
        return form
    found = formats.find(form)
    if not isinstance(found, formats.PropertyFormat):
        raise FormatError(f"not a valid format: {form}\n")
    return found.schema


def _text(schema: Schema, key: str, value: Printable) -> str:
    found = schema.properties.get(key)
    if found is not None and found.alias is not None:
        found = schema.properties[found.alias]
    if found is None:
        raise FormatError(f"invalid key '{key}'\n")
    if isinstance(value, bool):
        return "1" if value else "0"
    if found.format == "disk-size" and isinstance(value, int):
        return format_size(value)
    text = str(value)
    if "," in text:
        raise FormatError(f"illegal value with commas for {key}\n")
    return text
