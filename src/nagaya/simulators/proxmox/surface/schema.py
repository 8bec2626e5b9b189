"""What a value must look like for PVE: its own dialect of JSON Schema, as facts without the prose.

A schema is compared by identity, because many properties share one: the 32 network devices of a VM, and the 90 options
that creation, synchronous and asynchronous configuration have in common, exist once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

Scalar = str | int | float

NO_PROPERTIES: Mapping[str, Schema] = MappingProxyType({})


@dataclass(frozen=True, eq=False, kw_only=True)
class Schema:
    """One value. Whatever PVE does not say is None, empty or False here."""

    type: str | None = None
    optional: bool = False
    format: str | Schema | None = None
    """The name of a format, or the properties that stand in the string as comma-separated `key=value` parts."""
    pattern: str | None = None
    """A regular expression in Python's syntax, without the anchors that PVE puts around it."""
    minimum: int | float | None = None
    maximum: int | float | None = None
    min_length: int | None = None
    max_length: int | None = None
    enum: tuple[str, ...] = ()
    default: Scalar | None = None
    requires: str | None = None
    """Another property that must be there as well."""
    default_key: bool = False
    """In a property string: the part without a key is this one."""
    alias: str | None = None
    """In a property string: this key is another way to write that one."""
    key_alias: str | None = None
    """Together with `alias`: the key itself is the value of that property."""
    properties: Mapping[str, Schema] = field(default_factory=lambda: NO_PROPERTIES)
    items: Schema | None = None
    additional: bool | Schema | None = None
    """Whether properties beyond `properties` are allowed; None is as good as True."""
    type_property: str | None = None
    """The sibling that says of which type the whole object is."""
    instance_types: tuple[str, ...] = ()
    """The types of object that have this property. PVE publishes them, but does not look at them here."""

    @cached_property
    def matcher(self) -> re.Pattern[str] | None:
        """The pattern between its anchors. PVE does not group it, so `a|b` means "begins with a, or ends with b"."""
        return None if self.pattern is None else re.compile(f"^{self.pattern}$")

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The properties that are missed when they are not given."""
        return tuple(name for name, schema in self.properties.items() if not (schema.optional or schema.alias))

    @cached_property
    def bare_key(self) -> str | None:
        """In a property string: what the part without a key means."""
        return next((name for name, schema in self.properties.items() if schema.default_key), None)

    @cached_property
    def paired_keys(self) -> Mapping[str, str]:
        """In a property string: which property is written as the key of which other, as in `virtio=MAC`."""
        return {
            schema.key_alias: schema.alias for schema in self.properties.values() if schema.key_alias and schema.alias
        }
