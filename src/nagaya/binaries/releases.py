"""Versions: how they are written, which others go with a Kubernetes version, and which machine they are for."""

from __future__ import annotations

import platform as machine
import re
from dataclasses import dataclass

from nagaya.binaries.errors import UnknownRequest
from nagaya.binaries.programs import Product

DEFAULT_VERSION = "v1.36.3"
ETCD_VERSION = "v3.7.3"
CLUSTER_API_VERSION = "v1.14.0"
KINE_VERSION = "v0.14.10"
KONNECTIVITY_VERSION = "v0.36.0"

OLDEST_ETCD = (3, 5, 24)
"""The oldest etcd that kubeadm 1.35 to 1.37 accept; kube-apiserver's watch progress needs 3.5.13."""

_VERSION = re.compile(r"v?(?P<triple>\d+\.\d+\.\d+)(?P<pre>-[0-9A-Za-z][0-9A-Za-z.-]*)?(?P<build>\+[0-9A-Za-z.+-]+)?")

# What `uname -m` says, and what Go and the release sites call it.
_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_ARCHITECTURES |= {"ppc64le": "ppc64le", "s390x": "s390x"}


@dataclass(frozen=True, slots=True)
class Release:
    """A Kubernetes version, what it is run with, and the Cluster API that is tried on it."""

    kubernetes: str
    etcd: str = ETCD_VERSION
    cluster_api: str = CLUSTER_API_VERSION
    kine: str = KINE_VERSION
    konnectivity: str = KONNECTIVITY_VERSION

    @classmethod
    def parse(cls, version: str) -> Release:
        """The release of a version such as `v1.36.3` or `1.36.3`."""
        match = _VERSION.fullmatch(version.strip())
        if match is None or match["build"]:
            raise UnknownRequest(
                f"{version!r} is not a Kubernetes version. Write it in full, such as {DEFAULT_VERSION}."
            )
        return cls(f"v{match['triple']}{match['pre'] or ''}")

    def of(self, product: Product) -> str:
        """The version of one product in this release."""
        match product:
            case "kubernetes":
                return self.kubernetes
            case "etcd":
                return self.etcd
            case "cluster-api":
                return self.cluster_api
            case "kine":
                return self.kine
            case "konnectivity":
                return self.konnectivity


def find_version(text: str) -> str | None:
    """The first version that a program's words mention, as `v1.36.3`, build metadata such as `+k3s1` left out."""
    match = _VERSION.search(text)
    return None if match is None else f"v{match['triple']}{match['pre'] or ''}"


def triple(version: str) -> tuple[int, int, int]:
    """Major, minor and patch number, for comparing."""
    major, minor, patch = version.removeprefix("v").partition("-")[0].split(".")
    return int(major), int(minor), int(patch)


@dataclass(frozen=True, slots=True)
class Platform:
    """Operating system and processor in Go's words."""

    system: str
    architecture: str

    @classmethod
    def here(cls) -> Platform:
        """The platform of this machine."""
        name = machine.machine().lower()
        return cls(machine.system().lower(), _ARCHITECTURES.get(name, name))

    def __str__(self) -> str:
        return f"{self.system}-{self.architecture}"
