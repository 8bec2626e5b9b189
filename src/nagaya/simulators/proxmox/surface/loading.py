"""Routes out of the data file.

The file holds every distinct schema once and refers to it by number; schemas are made when a route first needs
them, so reading it costs a few milliseconds, once per process.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from importlib import resources
from types import MappingProxyType
from typing import Any

import orjson

from nagaya.simulators.proxmox.surface.difference import at_8_4
from nagaya.simulators.proxmox.surface.route import Check, Permissions, Route
from nagaya.simulators.proxmox.surface.routes import Routes
from nagaya.simulators.proxmox.surface.schema import NO_PROPERTIES, Schema

VERSIONS = ("9.2", "8.4")
_FAMILY = "[n]"

ROOT = Route(
    method="GET",
    path="/",
    name="index",
    permissions=Permissions(user="all"),
    protected=False,
    proxy_to=None,
    allow_token=True,
    make_parameters=lambda: Schema(additional=False),
    make_returns=lambda: Schema(
        type="array", items=Schema(type="object", properties={"subdir": Schema(type="string")})
    ),
)
"""The list of what there is, which the published schema leaves out."""


def routes(version: str = "9.2") -> Routes:
    """What the API of that version of PVE consists of."""
    return _read(version)


@cache
def _read(version: str) -> Routes:
    if version not in VERSIONS:
        raise ValueError(f"The emulator knows no PVE {version}. It has {' and '.join(VERSIONS)}.")
    if version == "8.4":
        return Routes(version, at_8_4(_read("9.2")))
    facts = orjson.loads(resources.files(__package__).joinpath("routes.json").read_bytes())
    return Routes(version, [ROOT, *Reader(facts).routes()])


class Reader:
    """One file of facts."""

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = facts
        self._families: Mapping[str, int] = facts["families"]
        self._made: dict[int, Schema] = {}

    def routes(self) -> list[Route]:
        """All routes of the file."""
        return [self._route(fact) for fact in self._facts["routes"]]

    def _route(self, fact: Mapping[str, Any]) -> Route:
        return Route(
            method=fact["method"],
            path=fact["path"],
            name=fact["name"],
            permissions=_permissions(fact.get("permissions")),
            protected="protected" in fact,
            proxy_to=fact.get("proxy"),
            allow_token="no_token" not in fact,
            make_parameters=partial(self._schema, fact["parameters"]),
            make_returns=partial(self._schema, fact["returns"]),
        )

    def _schema(self, number: int) -> Schema:
        made = self._made.get(number)
        if made is None:
            made = self._made[number] = self._make(self._facts["schemas"][number])
        return made

    def _make(self, fact: Mapping[str, Any]) -> Schema:
        form = fact.get("format")
        additional = fact.get("additional")
        items = fact.get("items")
        return Schema(
            type=fact.get("type"),
            optional="optional" in fact,
            format=Schema(properties=self._properties(form), additional=False) if isinstance(form, dict) else form,
            pattern=fact.get("pattern"),
            minimum=fact.get("minimum"),
            maximum=fact.get("maximum"),
            min_length=fact.get("min_length"),
            max_length=fact.get("max_length"),
            enum=tuple(fact.get("enum", ())),
            default=fact.get("default"),
            requires=fact.get("requires"),
            default_key="default_key" in fact,
            alias=fact.get("alias"),
            key_alias=fact.get("key_alias"),
            properties=self._properties(fact["properties"]) if "properties" in fact else NO_PROPERTIES,
            items=None if items is None else self._schema(items),
            additional=additional if additional is None or isinstance(additional, bool) else self._schema(additional),
            instance_types=tuple(fact.get("instance_types", ())),
            type_property=fact.get("type_property"),
        )

    def _properties(self, numbers: Mapping[str, int]) -> Mapping[str, Schema]:
        properties: dict[str, Schema] = {}
        for name, number in numbers.items():
            schema = self._schema(number)
            if name.endswith(_FAMILY):
                family = name.removesuffix(_FAMILY)
                properties.update((f"{family}{index}", schema) for index in range(self._families[family]))
            else:
                properties[name] = schema
        return MappingProxyType(properties)


def _permissions(fact: Mapping[str, Any] | None) -> Permissions | None:
    if fact is None:
        return None
    check = fact.get("check")
    return Permissions(user=fact.get("user"), check=None if check is None else _check(check))


def _check(fact: list[Any]) -> Check:
    return tuple(_check(part) if isinstance(part, list) else part for part in fact)
