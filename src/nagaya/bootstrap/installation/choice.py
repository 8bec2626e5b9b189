"""Where the programs of a node come from, and how a user says so: annotations of the KubeadmConfig.

They are set in `spec.template.metadata` of a KubeadmConfigTemplate, or in `spec.machineTemplate.metadata` of a
KubeadmControlPlane, from where every KubeadmConfig gets them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nagaya.api.bootstrap.annotations import INSTALL, MIRROR
from nagaya.bootstrap.refusal import Refused

IMAGE: Final = "image"
PACKAGES: Final = "packages"
OFFICIAL: Final = "https://pkgs.k8s.io"

# It becomes part of a line of sources.list and of a .repo file: no character that means something there.
_MIRROR: Final = re.compile(r"https://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~:+-]+)*/?")


@dataclass(frozen=True, slots=True)
class FromImage:
    """The image has them."""


@dataclass(frozen=True, slots=True)
class FromPackages:
    """The exact version is installed from Kubernetes' own packages, containerd from the distribution's."""

    mirror: str = OFFICIAL
    """Without a slash at its end."""


Installation = FromImage | FromPackages
FROM_IMAGE: Final = FromImage()


def requested(annotations: Mapping[str, str]) -> Installation:
    """What the annotations of a KubeadmConfig ask for. Raises Refused."""
    asked, mirror = annotations.get(INSTALL, IMAGE), annotations.get(MIRROR)
    if asked not in (IMAGE, PACKAGES):
        raise Refused(
            _field(INSTALL),
            f"{asked!r} is no way to install Kubernetes",
            f"Set it to {PACKAGES}, or to {IMAGE} if the image has kubelet and containerd",
        )
    if mirror is None:
        return FromPackages() if asked == PACKAGES else FROM_IMAGE
    if asked == IMAGE:
        raise Refused(
            _field(MIRROR), f"nothing is installed without {INSTALL}: {PACKAGES}", "Add that annotation, or remove this"
        )
    if not _MIRROR.fullmatch(mirror):
        raise Refused(
            _field(MIRROR),
            "it is no plain https URL",
            "Give one such as https://mirror.example.com/kubernetes, without credentials, query and fragment. It has "
            "to be https because the key that packages are checked with comes from there",
        )
    return FromPackages(mirror.rstrip("/"))


def _field(annotation: str) -> str:
    return f"metadata.annotations[{annotation}]"
