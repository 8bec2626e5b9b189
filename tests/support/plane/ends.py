"""What a plane is like in the end: every value of the objects of its clusters, and of their VMs.

Words stand for what differs from one life to another: generated names, numbers, places, dates, the number of times that
something was rolled. The versions and sizes that are wanted are words too, and addons are left out, so that few
clusters have to be made to compare with.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.api.cluster.labels import CLUSTER_NAME, CONTROL_PLANE
from nagaya.api.untyped import Untyped
from support.end_state import lines, objects_of
from support.plane import addon
from support.plane.scene import Scene
from support.plane.wish import Wish

_VARYING: Final = (
    (re.compile(r"\b10\.[01]\.0\.\d+\b"), "<address>"),
    (re.compile(r"<address>:16\d{3}\b"), "<hosted API>"),
    (re.compile(r"\bpve[123]\b"), "<host>"),
    (re.compile(r"\b(?:[0-9A-F]{2}:){5}[0-9A-F]{2}\b"), "<mac>"),
    (re.compile(r"bootstrap-token-[a-z0-9]{6}"), "<token>"),
    (re.compile(r"\bdemo-[0-9a-f]{10}\b"), "<data center>"),
    (re.compile(r"(nagaya\.dev/claim|\.spec\.claim) = [0-9a-f]{32}\b"), r"\1 = <claim>"),
    (re.compile(r"\bsha256:[0-9a-f]{64}\b"), "<digest>"),
    (
        re.compile(r"((?:serialNumber|virtualMachineID|vmid|sourceNode|templateID|resizedDisks|number) = )\S+"),
        r"\1<number>",
    ),
)
_MEMORY: Final = re.compile(r"(memory(?:MiB)? = )\d+")
_HISTORY: Final = re.compile(
    r"\.metadata\.(?:annotations\.machinedeployment\.clusters\.x-k8s\.io/|generation|labels\.machine-template-hash"
    r"|annotations\.owner|labels\.colour|managedFields|ownerReferences\[[^]]*\]\.uid)"
    r"|\.spec\.(?:selector\.matchLabels\.machine-template-hash|template\.metadata\.labels\.machine-template-hash"
    r"|template\.metadata\.labels\.colour)"
    r"|lastTransitionTime|observedGeneration|machine-template-hash|\.status\.taskRef"
    r"|^Cluster .*\.spec\.paused = False|\.status\.lastRemediation\.|/remediation-for = "
    r"|^HostedControlPlane .*\.status\.(?:timeline\[|components\[[^]]*\]\.restarts )"
    rf"|^Cluster .*\.metadata\.labels\.{addon.SELECTED} = "
    r"|^KubeadmConfig <control plane> \.spec\.(?:cluster|init|join)Configuration"
)
"""What tells of the way, not of the end."""


@dataclass(frozen=True, slots=True)
class End:
    """A cluster in the end."""

    wanted: Wish
    state: list[str]


async def ends(here: Scene) -> list[End]:
    """The clusters of a scene."""
    return [End(wanted, await state_of(here, wanted)) for wanted in here.wishes.values()]


async def state_of(here: Scene, wanted: Wish) -> list[str]:
    """Every value of the objects of a cluster, and of its VMs, as a line."""
    objects = [each for each in await objects_of(here) if _of(each, wanted.name) and not _is_past(each, wanted)]
    names = _names(objects, wanted)
    found = [line for each in objects for line in lines(each, names)]
    found += [line for each in objects if each.kind == "ProxmoxMachine" for line in _vm(here, each, names)]
    return sorted(_worded([line for line in found if not _HISTORY.search(line)], wanted))


def _of(each: Untyped, cluster: str) -> bool:
    labels = each.metadata.labels
    if each.kind == "ProxmoxConnection" or addon.concerns(each.kind, each.metadata.name):
        return False
    return labels.get(CLUSTER_NAME) == cluster or each.metadata.name.startswith(f"{cluster}-")


def _is_past(each: Untyped, wanted: Wish) -> bool:
    """What is kept of earlier wishes: templates that are not used, MachineSets without machines."""
    if each.kind == "MachineSet":
        return each.at("spec", "template", "spec", "infrastructureRef", "name") != wanted.template or (
            each.at("spec", "template", "spec", "version") != wanted.version
        )
    return (
        each.kind == "ProxmoxMachineTemplate"
        and "-worker" in each.metadata.name
        and each.metadata.name != wanted.template
    )


def _names(objects: Iterable[Untyped], wanted: Wish) -> dict[str, str]:
    names = {wanted.template: f"{wanted.name}-worker-template"}
    for each in objects:
        if each.kind == "MachineSet":
            names[each.metadata.name] = "<set>"
        elif each.kind == "Machine":
            names[each.metadata.name] = "<control plane>" if CONTROL_PLANE in each.metadata.labels else "<worker>"
    return names


def _vm(here: Scene, machine: Untyped, names: dict[str, str]) -> Iterable[str]:
    guest = here.datacenter.guests.get(int(machine.at("spec", "virtualMachineID") or 0))
    name = names.get(machine.metadata.name, machine.metadata.name)
    if guest is None:
        yield f"VM of {name} does not exist"
        return
    yield f"VM of {name} running = {guest.running}"
    for option in ("cores", "memory", "agent", "boot", "ostype", "scsihw", "tags", "onboot"):
        yield f"VM of {name} .{option} = {guest.config.get(option)}"


def _worded(lines: list[str], wanted: Wish) -> list[str]:
    sizes = (f" = {wanted.memory}", f" = {wanted.memory}Mi")
    # All lines at once: each alone would take many times as long.
    text = "\n".join(
        _MEMORY.sub(r"\1<memory>", line)
        if line.endswith(sizes) and ("<worker>" in line or "-worker-template" in line)
        else line
        for line in lines
    )
    text = text.replace(wanted.name, "<cluster>").replace(wanted.version, "<version>")
    for pattern, word in _VARYING:
        text = pattern.sub(word, text)
    return text.split("\n")
