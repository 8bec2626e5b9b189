"""What a failed task of Proxmox VE means: the few failures that people can do something about, by the words of its log.

The words are Proxmox VE's and those of the programs that it calls. A log that none of them is in is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from nagaya.infrastructure.proxmox.client.upid import Upid

_EXTENT: Final = 4 << 20
_GIB: Final = 1 << 30
_Remedy = Callable[[re.Match[str], Upid], tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Meaning:
    """A failure, and what helps."""

    what: str
    remedy: str


def _full(match: re.Match[str], task: Upid) -> tuple[str, str]:
    found = match.groupdict()
    where = f"volume group {found['group']}" if found.get("group") else "the storage of its disks"
    amount = "space"
    if found.get("need"):
        lacking = -(-(int(found["need"]) - int(found["have"])) * _EXTENT // _GIB)
        amount = f"at least {lacking} GiB (at LVM's usual 4 MiB an extent)"
    return (
        f"{where} on host {task.node} is full",
        f"Free {amount} there (`pvesm status` on {task.node} shows what is used), or name another storage in "
        "`spec.storage` or `spec.placement.storages` of the ProxmoxMachineTemplate. It is tried again by itself.",
    )


def _pattern(pattern: str, made: _Remedy) -> tuple[re.Pattern[str], _Remedy]:
    return re.compile(pattern, re.IGNORECASE), made


def _said(what: str, remedy: str) -> _Remedy:
    def made(match: re.Match[str], task: Upid) -> tuple[str, str]:
        named = {"node": task.node, "vmid": task.id, **{key: value or "" for key, value in match.groupdict().items()}}
        return what.format(**named), remedy.format(**named)

    return made


_MEANINGS: Final = (
    _pattern(
        r"volume group \"?(?P<group>[\w.-]+)\"? has insufficient free space"
        r"(?: \((?P<have>\d+) extents\): (?P<need>\d+) required)?",
        _full,
    ),
    _pattern(r"no space left on device|out of space|not enough (?:free )?space|disk quota exceeded", _full),
    _pattern(
        r"permission check failed \((?P<path>[^,]+), (?P<privilege>[\w.| ]+)\)",
        _said(
            "the token may not do it: it lacks {privilege} on {path}",
            "Grant it: `nagaya proxmox connect` sets all rights anew; `nagaya proxmox check` lists what is missing.",
        ),
    ),
    _pattern(
        r"no quorum",
        _said("the hosts have no quorum", "Turn more hosts on: `pvecm status` on one of them says who is missing."),
    ),
    _pattern(
        r"bridge '?(?P<bridge>[\w.-]+)'? does not exist",
        _said(
            "host {node} has no bridge {bridge}",
            "Make the bridge on {node}, or name one that it has in `spec.network` of the ProxmoxMachineTemplate.",
        ),
    ),
    _pattern(
        r"storage '?(?P<storage>[\w.-]+)'? (?:is not online|is not available|does not exist)",
        _said(
            "host {node} cannot use storage {storage}",
            "Bring storage {storage} back on {node} (`pvesm status` there), or name another.",
        ),
    ),
    _pattern(
        r"cannot allocate memory|not enough memory",
        _said(
            "host {node} has too little memory left",
            "Stop or move other VMs of {node}, or give less away: `spec.placement.overcommit` and `.reserve`.",
        ),
    ),
    _pattern(
        r"max (?P<most>\d+) vcpus allowed per vm on this node",
        _said(
            "host {node} starts no machine with more than {most} processors, and VM {vmid} is to have more",
            "Have the owner of the machine name a ProxmoxMachineTemplate that asks for no more than {most} "
            "(`numCores` times `numSockets`).",
        ),
    ),
    _pattern(
        r"kvm virtualisation configured, but not available",
        _said("host {node} cannot virtualise", "Turn virtualisation on in the firmware of {node}."),
    ),
    _pattern(
        r"(?:vm is locked|can't lock file)",
        _said(
            "VM {vmid} is locked by another operation",
            "Wait for that; if none runs any more, `qm unlock {vmid}` on {node} frees it.",
        ),
    ),
    _pattern(
        r"interrupted by signal|unexpected status|received interrupt",
        _said("it was interrupted", "Look at what happened on host {node} then: was it turned off? It is tried again."),
    ),
)


def meaning(task: Upid, words: Sequence[str]) -> Meaning | None:
    """What a failure means, by its exit status and the lines of its log; None if nobody has put it into words."""
    text = "\n".join(words)
    for pattern, made in _MEANINGS:
        if (match := pattern.search(text)) is not None:
            return Meaning(*made(match, task))
    return None
