"""What there is in a namespace in the end, without what differs from one run to the next.

Names that were generated, identifiers, dates, versions, addresses and keys are replaced by words, so that two runs that
ended in the same state compare equal.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.kube.key import Key
from support.lab import KINDS, SECRETS, Lab

REVISION = "machinedeployment.clusters.x-k8s.io/revision"
_VARYING = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<uid>"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"), "<time>"),
    (re.compile(r"\b172\.\d+\.\d+\.\d+\b"), "<address>"),
    (re.compile(r"(\bport = )\d+"), r"\1<port>"),
    (re.compile(r"(providerID = .*-)[0-9a-f]{8}$", re.MULTILINE), r"\1<uid>"),
    (re.compile(r"(machineID = )[0-9a-f]{32}$", re.MULTILINE), r"\1<uid>"),
    (re.compile(r"(machine-template-hash\b.*?\d+-)[a-z0-9]{5}\b"), r"\1<random>"),
)


async def end_state(lab: Lab) -> list[str]:
    """Every value of every object of the namespace as a line, sorted."""
    objects = await objects_of(lab)
    names = generated(objects)
    names[lab.namespace] = "<namespace>"
    return sorted(line for obj in objects for line in lines(obj, names))


async def objects_of(lab: Lab) -> list[Untyped]:
    """Every object of the namespace."""
    return [obj for kind in _kinds() for obj in (await lab.client.list(kind, lab.namespace)).items]


async def orphans(lab: Lab, cluster: str) -> list[str]:
    """What belongs to nothing: hosts without Machines, Machines and Nodes without each other."""
    machines = {each.metadata.uid: each for each in await lab.all("Machine")}
    found = [
        f"SimulatedMachine {host.metadata.name} has no Machine"
        for host in await lab.all("SimulatedMachine")
        if not any(owner.uid in machines for owner in host.metadata.owner_references)
    ]
    nodes = {node.metadata.name for node in await lab.nodes(cluster)}
    wanted = {each.status.node_ref.name for each in machines.values() if each.status.node_ref is not None}
    found += [f"Node {name} has no Machine" for name in sorted(nodes - wanted)]
    found += [f"Machine's Node {name} does not exist" for name in sorted(wanted - nodes)]
    return found


async def remains(lab: Lab, cluster: str) -> list[str]:
    """What is left of a Cluster that is gone: objects, Secrets that Nagaya made, a simulated cluster that still runs, a
    connection to it."""
    found = await lab.left()
    found += [
        f"Secret/{each.metadata.name}"
        for each in (await lab.client.list(SECRETS, lab.namespace)).items
        if each.metadata.name != f"{cluster}-boot"
    ]
    key = Key(lab.namespace, cluster)
    if lab.plane.tenants is not None and lab.plane.tenants.tenancy(key) is not None:
        found.append("a simulated cluster")
    if lab.plane.remotes.get(key) is not None:
        found.append("a connection to the cluster")
    return found


def difference(expected: list[str], found: list[str]) -> str:
    """What only one of two states has."""
    lost, new = Counter(expected), Counter(found)
    return "\n".join(
        [f"- {each}" for each in (lost - new).elements()] + [f"+ {each}" for each in (new - lost).elements()]
    )


def _kinds() -> list[Kind[Untyped]]:
    typed = [kind for kind in KINDS.values() if kind.namespaced]
    return [SECRETS, *(Kind(each.group, each.version, each.kind, each.plural, Untyped) for each in typed)]


def generated(objects: list[Untyped]) -> dict[str, str]:
    """Words for names: a MachineSet is known by its revision, a machine by its set."""
    sets = {
        each.metadata.name: f"<set {each.metadata.annotations.get(REVISION, '')}>"
        for each in objects
        if each.kind == "MachineSet"
    }
    names = dict(sets)
    for each in objects:
        if each.kind in ("Machine", "SimulatedMachine"):
            name = each.metadata.name
            made = next((word for prefix, word in sets.items() if name.startswith(f"{prefix}-")), None)
            if made is not None:
                names[name] = f"<machine of {made}>"
    return names


def lines(obj: Untyped, names: Mapping[str, str]) -> list[str]:
    """Every value of an object as a line, with words for what varies."""
    content = {**obj.raw, "metadata": {**obj.raw["metadata"]}}
    metadata = content["metadata"]
    metadata.pop("resourceVersion", None)
    metadata.pop("managedFields", None)
    if content["kind"] == "Secret":
        content["data"] = sorted(content.get("data", {}))
    generation = metadata.pop("generation", None)
    head = f"{content['kind']} {metadata['name']}"
    told = []
    for path, value in _values(content):
        shown = "<generation>" if "observedGeneration" in path and value == generation else value
        told.append(f"{head} {path} = {shown}".replace("\n", "\\n"))
    # All lines at once: each alone would take many times as long.
    text = "\n".join(told)
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text.split("\n")


def _values(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The leaves of a JSON value. Conditions and owners have no order, so they go by their names."""
    if isinstance(value, Mapping):
        for name, each in value.items():
            yield from _values(each, f"{path}.{name}")
    elif isinstance(value, list):
        for number, each in enumerate(value):
            name = each.get("type") or each.get("name") if isinstance(each, Mapping) else None
            yield from _values(each, f"{path}[{name or number}]")
    else:
        yield path, value
