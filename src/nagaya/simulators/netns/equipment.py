"""What the image of a real machine would bring along: files, services, and what the host must have for them.

The kubelet's own settings for this kind of machine are in a drop-in folder, as an image for such machines would have
it. So a tenant's kubelet configuration is used as it is, and nobody outside knows that the machine is not a real one.
"""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Mapping
from importlib.resources import files
from ipaddress import IPv4Interface, IPv4Network
from pathlib import Path
from typing import Any, Final

from nagaya.simulators.netns.image import PAUSE
from nagaya.simulators.netns.program import UnknownArchitecture, architecture

_PACKAGES: Final = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "ip": "iproute2",
    "iptables": "iptables",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "setpriv": "util-linux",
    "pivot_root": "util-linux",
    "mount": "mount",
}
"""Programs that a host must have, and the Debian packages that bring them."""
_PLUGINS: Final = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
_PLUGINS_NEEDED: Final = ("bridge", "host-local", "loopback")
_NAMESPACE: Final = uuid.UUID("5a1f0b8e-2f0e-4f3c-9e63-7b6a4d0d6a11")

_CONTAINERD: Final = """\
version = 2
# Otherwise containerd runs without CRI when that plugin fails to load, for example because no inotify instance is left.
required_plugins = ["io.containerd.grpc.v1.cri"]
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{pause}"
  disable_apparmor = true
  # A host may forbid its root to lower the score of processes.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "/etc/cni/net.d"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        BinaryName = "runc"
        SystemdCgroup = false
"""


def missing(packages: Path | None = None) -> list[str]:
    """What this host lacks to have machines, a sentence each; empty if it lacks nothing. `packages` as `NetnsHost` has
    them."""
    found = []
    if os.geteuid() != 0:
        found.append("Machines are namespaces, which only root may make: run it as root.")
    try:
        architecture()
    except UnknownArchitecture as error:
        found.append(str(error))
    absent = sorted({package for program, package in _PACKAGES.items() if _found(program, packages) is None})
    if plugin_folder(packages) is None:
        absent.append("containernetworking-plugins")
    if absent:
        found.append(f"Programs are missing: install {', '.join(absent)} (the names are Debian's).")
    return found


def plugin_folder(packages: Path | None = None) -> Path | None:
    """Where a machine has its CNI plugins: where the host has them, or where the packages bring them to."""
    roots = [Path("/")] if packages is None else [Path("/"), unpacked(packages)]
    for root in roots:
        for folder in _PLUGINS:
            if all((root / folder.relative_to("/") / name).exists() for name in _PLUGINS_NEEDED):
                return folder
    return None


def host_program(name: str, packages: Path | None) -> str:
    """How a program is called on the host itself: the host's own, else the one of the packages."""
    return _found(name, packages) or name


def unpacked(packages: Path) -> Path:
    """The files of the packages, of which a machine has those that the host lacks."""
    return packages / "root"


def _found(program: str, packages: Path | None) -> str | None:
    return shutil.which(program) or (None if packages is None else shutil.which(program, path=str(packages / "bin")))


def equipment(
    host: str,
    name: str,
    address: IPv4Interface,
    pods: IPv4Network,
    *,
    unified_cgroups: bool,
    packages: Path | None = None,
) -> Mapping[str, tuple[str, int]]:
    """The files of a machine, by their paths without the first slash, each with its mode."""
    plugins = plugin_folder(packages)
    assert plugins is not None, "a host without plugins has no machines"
    hosts = f"127.0.0.1 localhost\n::1 localhost\n{address.ip} {name}\n"
    return {
        "etc/hostname": (f"{name}\n", 0o644),
        "etc/hosts": (hosts, 0o644),
        "etc/machine-id": (f"{uuid.uuid5(_NAMESPACE, f'{host}/{name}').hex}\n", 0o444),
        "etc/resolv.conf": ("# There is no resolver: nothing here leaves the host.\n", 0o644),
        "etc/containerd/config.toml": (_CONTAINERD.format(pause=PAUSE, plugins=plugins), 0o644),
        "etc/cni/net.d/10-machine.conflist": (json.dumps(_pod_network(pods), indent=2), 0o644),
        "etc/nagaya/kubelet.conf.d/10-machine.conf": (json.dumps(_kubelet(unified_cgroups), indent=2), 0o644),
        "usr/local/bin/systemctl": (script("systemctl"), 0o755),
    }


def script(name: str) -> str:
    """One of the scripts that come with this package."""
    return files("nagaya.simulators.netns").joinpath("scripts", name).read_text()


def _pod_network(pods: IPv4Network) -> dict[str, Any]:
    ipam = {"type": "host-local", "ranges": [[{"subnet": str(pods)}]], "routes": [{"dst": "0.0.0.0/0"}]}
    bridge = {"type": "bridge", "bridge": "cni0", "isGateway": True, "ipMasq": False, "ipam": ipam}
    return {"cniVersion": "0.4.0", "name": "machine", "plugins": [bridge]}


def _kubelet(unified_cgroups: bool) -> dict[str, Any]:
    content: dict[str, Any] = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "cgroupDriver": "cgroupfs",
        "failSwapOn": False,
        # The host's disks are not the machine's: they are neither measured nor a reason to evict.
        "localStorageCapacityIsolation": False,
        "imageGCHighThresholdPercent": 100,
        "evictionHard": {
            "nodefs.available": "0%",
            "nodefs.inodesFree": "0%",
            "imagefs.available": "0%",
            "memory.available": "1Mi",
        },
    }
    if not unified_cgroups:
        content["failCgroupV1"] = False
    return content
