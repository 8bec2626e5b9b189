"""What is put onto a plain machine and run there so that it can become a node.

The script is a file of its own beside this one, the same for every machine; version and mirror are its arguments. So
nothing is ever composed into shell text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from nagaya.api.bootstrap.annotations import INSTALL
from nagaya.api.bootstrap.kubeadm_config_spec import CLOUD_CONFIG
from nagaya.bootstrap.installation.choice import FromImage, Installation
from nagaya.bootstrap.own_file import OwnFile
from nagaya.bootstrap.refusal import Refused

SCRIPT: Final = "/usr/local/sbin/nagaya-install-kubernetes"
_RELEASE: Final = re.compile(r"v?([0-9]+\.[0-9]+\.[0-9]+)")
_READABLE: Final = "0644"
_EXECUTABLE: Final = "0755"

_MODULES: Final = b"overlay\nbr_netfilter\n"
_KERNEL: Final = (
    b"net.bridge.bridge-nf-call-iptables = 1\nnet.bridge.bridge-nf-call-ip6tables = 1\nnet.ipv4.ip_forward = 1\n"
)
_CRICTL: Final = (
    b"runtime-endpoint: unix:///run/containerd/containerd.sock\n"
    b"image-endpoint: unix:///run/containerd/containerd.sock\n"
)


@dataclass(frozen=True, slots=True)
class Steps:
    """Files that are written, then commands that are run, before anything of the user's runs."""

    files: tuple[OwnFile, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()


def steps(installation: Installation, kubernetes_version: str, format: str) -> Steps:
    """What a machine needs. Raises Refused if it cannot be had in this format or version."""
    if isinstance(installation, FromImage):
        return Steps()
    if format != CLOUD_CONFIG:
        raise Refused(
            f"metadata.annotations[{INSTALL}]",
            f"systems that boot with {format} have no packages to install",
            "Use an image that has kubelet and containerd, and remove the annotation",
        )
    release = _RELEASE.fullmatch(kubernetes_version)
    if release is None:
        raise Refused(
            "spec.version",
            f"there are packages of releases only, and {kubernetes_version!r} is none",
            "Give a release such as v1.36.3, or use an image that has kubelet and containerd",
        )
    return Steps(
        files=(
            OwnFile("/etc/modules-load.d/90-nagaya-kubernetes.conf", _MODULES, _READABLE),
            OwnFile("/etc/sysctl.d/90-nagaya-kubernetes.conf", _KERNEL, _READABLE),
            OwnFile("/etc/crictl.yaml", _CRICTL, _READABLE),
            OwnFile(SCRIPT, script(), _EXECUTABLE),
        ),
        commands=((SCRIPT, release[1], installation.mirror),),
    )


@cache
def script() -> bytes:
    """The script that installs."""
    return files(__package__).joinpath("install-kubernetes.sh").read_bytes()
