"""What a host lacks for a machine, and what helps: who reads it is to know what to do, and not only what is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

MEMORY: Final = (
    "Memory: free some, ask for less (memoryMiB), or let more of it be given away (schedulerHints.memoryAdjustment of "
    "the ProxmoxCluster)."
)
PROCESSORS: Final = "Processors: ask for fewer (numCores), or let more be given away (placement.overcommit.cpuPercent)."
MORE_PROCESSORS_THAN_THERE_ARE: Final = "Processors: ask for fewer (numCores, numSockets)."
BRIDGE: Final = (
    "Bridges: name one that there is (network.networkDevices[].bridge); one that there is but may not be used needs "
    "SDN.Use, which `nagaya proxmox connect` grants."
)
SPACE: Final = "Storage: free some space, name another one (storage, placement.storages), or ask for less (disks)."
TEMPLATE: Final = (
    "Template: `nagaya proxmox image add` copies one to every host; one on a shared storage is enough for all."
)
SPREAD: Final = "Spread: allow more hosts (allowedNodes), or set placement.spread to Preferred."


@dataclass(frozen=True, slots=True)
class Lack:
    """One thing that speaks against a host."""

    why: str
    remedy: str = ""


def remedies(lacks: Iterable[Lack]) -> tuple[str, ...]:
    """What helps, each once."""
    return tuple(dict.fromkeys(each.remedy for each in lacks if each.remedy))
