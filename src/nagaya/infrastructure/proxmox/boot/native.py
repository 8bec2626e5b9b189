"""Boot data where no ISO may be uploaded: Proxmox VE's own cloud-init drive first, then the rest by the guest agent.

The drive has room for a host name, keys and simple networks, but not for user data of ours. It gets the guest so far
that the agent answers. Then the same NoCloud seed that an ISO would have is written into the guest, the drive is
taken out of cloud-init's sight, and the guest starts as if for the first time.

Why a seed and a restart, and not a program that runs the user data at once: a stock cloud image then does with them
what it does with every seed. All modules run, in their order, with the network that the seed describes, and whatever
relies on a first boot (host keys, growing disks, units that wait for cloud-init) finds one. Running single modules, or
`cloud-init init` a second time in a guest that is up, does some of that, and what is left out differs by version.

What always holds: the folder is closed to others before anything secret is in it, as the agent makes files that all
may write; the marker comes after everything else was written and compared, so that it vouches for all of it; whether
the guest has taken the seed is told by cloud-init's own note of the instance, and by nothing that we remember.

Running programs by the agent takes the privilege VM.GuestAgent.Unrestricted, and an agent that lets them be run: that
of some distributions has it switched off.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from nagaya.foreign_answers import read_json
from nagaya.infrastructure.proxmox.boot.network import Network, Nic

SEED: Final = "/var/lib/cloud/seed/nocloud"
MARKER: Final = f"{SEED}/.nagaya"
INSTANCE: Final = "/var/lib/cloud/data/instance-id"
"""Where cloud-init notes which instance it takes the guest for."""
BOOT_ID: Final = "/proc/sys/kernel/random/boot_id"
_USER_DATA: Final = "user-data"
_SWITCH: Final = "/etc/cloud/cloud.cfg.d/99-nagaya.cfg"
_SWITCHED: Final = b"datasource_list: [NoCloud, None]\ndatasource: {NoCloud: {fs_label: null}}\n"
"""No drive with a label is looked for. Written by hand: the script that decides early in the boot whether cloud-init
runs at all reads this list with a shell, and only if it stands on one line."""
_AT_ONCE: Final = 61440 // 4 * 3
"""Bytes that one call can write: Proxmox VE takes 61440 characters of base64."""


def options(
    network: Network,
    user: str = "",
    ssh_keys: Iterable[str] = (),
) -> Mapping[str, str | int]:
    """The options of the VM."""
    made: dict[str, str | int] = {"citype": "nocloud", "ciupgrade": 0}
    for nic in network.nics:
        if config := _ipconfig(nic):
            made[f"ipconfig{nic.device.removeprefix('net')}"] = config
    if servers := _once(server for nic in network.nics for server in nic.dns_servers):
        made["nameserver"] = " ".join(servers)
    if domains := _once(domain for nic in network.nics for domain in nic.dns_search):
        made["searchdomain"] = " ".join(domains)
    if user:
        made["ciuser"] = user
    if keys := [line.strip() for key in ssh_keys for line in key.splitlines() if line.strip()]:
        # Proxmox VE decodes it once more after the form: a blank must be %20, + stays +.
        made["sshkeys"] = quote("\n".join(keys), safe="")
    return made


@dataclass(frozen=True, slots=True)
class WriteFile:
    """A file to write by the agent."""

    path: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Run:
    """A program to run by the agent."""

    command: tuple[str, ...]
    output: str | None = None
    """What it has to say; None: anything."""


Step = WriteFile | Run

RESTART: Final = Run(("cloud-init", "clean", "--logs", "--reboot"))
"""The guest restarts by it, so nobody will say how it ended. In a guest that is going down already it does no harm."""


@dataclass(frozen=True, slots=True)
class Marker:
    """What stands in the guest about the boot data that were written there."""

    machine: str
    """The uid of the ProxmoxMachine."""
    digest: str
    restarts: int = 0
    """In how many of its boots the guest was told to restart."""
    boot: str = ""
    """The last of them, as the kernel calls it."""
    erased: bool = False
    """Whether what is secret was taken out again."""

    def written(self) -> WriteFile:
        """The file."""
        said = {
            "machine": self.machine,
            "digest": self.digest,
            "restarts": self.restarts,
            "boot": self.boot,
            "erased": self.erased,
        }
        return WriteFile(MARKER, json.dumps(said).encode() + b"\n")


def read_marker(text: str) -> Marker | None:
    """What a marker says; None if it is none."""
    try:
        said = read_json(text)
        return Marker(
            str(said["machine"]),
            str(said["digest"]),
            int(said.get("restarts", 0)),
            str(said.get("boot", "")),
            said.get("erased") is True,
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def digest(files: Mapping[str, bytes]) -> str:
    """By it boot data are known to be the same."""
    named = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    return hashlib.sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()


def steps(files: Mapping[str, bytes]) -> tuple[Step, ...]:
    """What is done by the agent, in this order, before the marker is written and the guest restarts. Doing all or some
    of it again does no harm."""
    made: list[Step] = [Run(("mkdir", "-p", "-m", "0700", SEED)), Run(("chmod", "0700", SEED))]
    # A file without content cannot be told from one that was never written.
    whole = {f"{SEED}/{name}": content or b"\n" for name, content in files.items()}
    for path, content in whole.items():
        made += _written(path, content)
    made.append(Run(("chmod", "0600", *whole)))
    made.append(WriteFile(_SWITCH, _SWITCHED))
    made.append(Run(("chmod", "0644", _SWITCH)))
    sums = "".join(f"{hashlib.sha256(content).hexdigest()}  {path}\n" for path, content in whole.items())
    made.append(Run(("sha256sum", *whole), sums))
    return tuple(made)


def erased() -> WriteFile:
    """Takes the place of user data that were used. The instance stays what it is, so cloud-init does nothing anew."""
    return WriteFile(f"{SEED}/{_USER_DATA}", b"#cloud-config\n")


def _written(path: str, content: bytes) -> list[Step]:
    if len(content) <= _AT_ONCE:
        return [WriteFile(path, content)]
    parts = [content[start : start + _AT_ONCE] for start in range(0, len(content), _AT_ONCE)]
    names = [f"{path}.part{number}" for number in range(len(parts))]
    made: list[Step] = [WriteFile(name, part) for name, part in zip(names, parts, strict=True)]
    made.append(Run(("sh", "-c", 'cat "$@" > "$0"', path, *names)))
    made.append(Run(("rm", "-f", *names)))
    return made


def _ipconfig(nic: Nic) -> str:
    """What fits: one address of each family, and no more than a gateway. The seed has the rest."""
    values: dict[str, str] = {}
    for version, suffix, dhcp in ((4, "", nic.dhcp4), (6, "6", nic.dhcp6)):
        fixed = next((each for each in nic.addresses if each.address.version == version), None)
        if fixed is not None:
            values[f"ip{suffix}"] = str(fixed.address)
            if fixed.gateway is not None:
                values[f"gw{suffix}"] = str(fixed.gateway)
        elif dhcp:
            values[f"ip{suffix}"] = "dhcp"
    return ",".join(f"{name}={value}" for name, value in values.items())


def _once(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
