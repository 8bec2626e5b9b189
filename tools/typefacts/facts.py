"""Writes the tables of facts about built-in kinds that the API server reads (`src/nagaya/apiserver/builtins/data`).

Run it by hand when the Kubernetes version changes, with Go installed: `python tools/typefacts/facts.py`. Two sources
are merged: what Go's reflection says about the types (main.go), and what Kubernetes publishes about them in its OpenAPI
and discovery documents. Only facts are taken over: names, numbers, types and markers; never descriptions.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "src/nagaya/apiserver/builtins/data"
KUBERNETES = "k8s.io/kubernetes@v1.36.3"

# What a kube-apiserver serves when nothing else is asked for; every other version is behind a flag.
SERVED_VERSIONS = {"v1"}
SERVED_BESIDES = {("autoscaling", "v2")}

# Kinds that every group version knows. They are the same struct everywhere and are written down once, without a group.
EVERYWHERE = {
    "CreateOptions",
    "DeleteOptions",
    "GetOptions",
    "ListOptions",
    "PatchOptions",
    "UpdateOptions",
    "WatchEvent",
}

# Kinds that nobody sends as a body and nobody stores.
UNUSED = {
    *("NodeProxyOptions", "PodAttachOptions", "PodExecOptions", "PodLogOptions", "PodPortForwardOptions"),
    *("PodProxyOptions", "ServiceProxyOptions", "ComponentStatus", "ComponentStatusList"),
    *("PodStatusResult", "RangeAllocation", "SerializedReference"),
}


def main() -> None:
    """Write all tables."""
    listing = subprocess.run(["go", "mod", "download", "-json", KUBERNETES], cwd=HERE, check=True, capture_output=True)
    published = Path(json.loads(listing.stdout)["Dir"]) / "api"
    reflected = json.loads(subprocess.run(["go", "run", "."], cwd=HERE, check=True, capture_output=True).stdout)
    DATA.mkdir(exist_ok=True, parents=True)
    kinds = dict(wanted_kinds(reflected["kinds"]))
    structs = reachable(set(kinds.values()), reflected["structs"])
    write("kinds.txt", (f"{kind} {struct}" for kind, struct in sorted(kinds.items())))
    write("types.txt", type_lines({name: reflected["structs"][name] for name in structs}, schemas(published)))
    write("resources.txt", resource_lines(published / "discovery"))


def write(name: str, lines: Iterator[str]) -> None:
    text = "\n".join(lines).strip("\n") + "\n"
    (DATA / name).write_text(text)
    print(f"{name}: {len(text)} bytes", file=sys.stderr)


def wanted_kinds(kinds: dict[str, str]) -> Iterator[tuple[str, str]]:
    for gvk, struct in kinds.items():
        kind = gvk.rpartition("/")[2]
        if kind in EVERYWHERE:
            yield f"*/*/{kind}", struct
        elif kind not in UNUSED:
            yield gvk, struct


def reachable(roots: set[str], structs: dict[str, Any]) -> list[str]:
    found: set[str] = set()
    todo = sorted(roots)
    while todo:
        name = todo.pop()
        if name not in found and name in structs:
            found.add(name)
            todo += [referred(field["type"]) for field in structs[name]["fields"] or ()]
    return sorted(found)


def referred(notation: str) -> str:
    """The struct that a type refers to, or nonsense that is no struct's name."""
    bare = notation.rpartition("=")[2].removeprefix("message")
    while bare[0] in "*[m":
        if bare.startswith("map["):
            bare = bare.partition("]")[2]
        elif bare.startswith("[]"):
            bare = bare[2:]
        elif bare.startswith("*"):
            bare = bare[1:]
        else:
            break
        bare = bare.rpartition("=")[2].removeprefix("message")
    return bare


def schemas(published: Path) -> dict[str, Any]:
    """The OpenAPI schemas of all served group versions, by the Go package and name of the type."""
    found: dict[str, Any] = {}
    for path in sorted((published / "openapi-spec/v3").glob("*_openapi.json")):
        found |= json.loads(path.read_text()).get("components", {}).get("schemas", {})
    return found


def schema_name(package: str, name: str) -> str:
    host, _, rest = package.partition("/")
    return ".".join([*reversed(host.split(".")), *rest.split("/"), name.rpartition(".")[2]])


def type_lines(structs: dict[str, Any], published: dict[str, Any]) -> Iterator[str]:
    for name, struct in structs.items():
        schema = published.get(schema_name(struct["package"], name), {})
        yield name + (" atomic" if schema.get("x-kubernetes-map-type") == "atomic" else "")
        required = set(schema.get("required", ()))
        for field in struct["fields"] or ():
            property_schema = schema.get("properties", {}).get(field["name"], {})
            yield " ".join(field_words(field, property_schema, field["name"] in required))
        yield ""


def field_words(field: dict[str, Any], schema: dict[str, Any], required: bool) -> Iterator[str]:
    via = [step.split(":") for step in field["via"] or ()]
    numbers = [number for _, number in via] + [field["number"]]
    yield field["name"]
    yield ".".join(numbers) if all(numbers) else "-"
    yield field["type"]
    if "omitzero" in field["omit"]:
        yield "omitzero"
    elif "omitempty" not in field["omit"]:
        yield "always"
    if required:
        yield "required"
    if via:
        yield "via=" + ".".join(name for name, _ in via)
    if field.get("strategy"):
        yield f"patch={field['strategy']}"
    if field.get("mergeKey"):
        yield f"mergekey={field['mergeKey']}"
    yield from merge_words(schema)
    default = schema.get("default")
    if isinstance(default, (str, int, float, bool)):
        yield f"default={json.dumps(default)}"


def merge_words(schema: dict[str, Any]) -> Iterator[str]:
    """How server-side apply merges the field. A list without a marker follows its patch strategy."""
    match schema.get("x-kubernetes-list-type"), schema.get("x-kubernetes-patch-strategy"):
        case "map", _:
            yield "list=" + ",".join(schema["x-kubernetes-list-map-keys"])
        case "set", _:
            yield "list"
        case None, "merge" | "merge,retainKeys" if schema.get("type") == "array":
            key = schema.get("x-kubernetes-patch-merge-key")
            yield f"list={key}" if key else "list"
    if (structure := schema.get("x-kubernetes-map-type")) in ("atomic", "granular"):
        yield structure


def resource_lines(discovery: Path) -> Iterator[str]:
    """One line for each resource and subresource, in the order of discovery."""
    groups = json.loads((discovery / "apis.json").read_text())["groups"]
    versions = [("", "v1"), *((group["name"], each["version"]) for group in groups for each in group["versions"])]
    for group, version in versions:
        if version in SERVED_VERSIONS or (group, version) in SERVED_BESIDES:
            path = discovery / (f"apis__{group}__{version}.json" if group else f"api__{version}.json")
            yield f"{group or 'core'} {version}"
            resources = json.loads(path.read_text())["resources"]
            yield from (" ".join(resource_words(each)) for each in sorted(resources, key=lambda each: each["name"]))
            yield ""


def resource_words(resource: dict[str, Any]) -> Iterator[str]:
    yield resource["name"]
    prefix = "/".join(resource[part] for part in ("group", "version") if part in resource)
    yield f"{prefix}/{resource['kind']}" if prefix else resource["kind"]
    yield "namespaced" if resource["namespaced"] else "cluster"
    yield "verbs=" + ",".join(resource["verbs"])
    if resource.get("singularName"):
        yield f"singular={resource['singularName']}"
    if resource.get("shortNames"):
        yield "short=" + ",".join(resource["shortNames"])
    if resource.get("categories"):
        yield "categories=" + ",".join(resource["categories"])


if __name__ == "__main__":
    main()
