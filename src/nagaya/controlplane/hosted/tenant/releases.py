"""What differs between Kubernetes minors in the objects that kubeadm of that minor makes.

A tenant gets what its own minor has, not what the newest one has: an old kubelet refuses or misreads new settings.
Everything not named here is the same in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from nagaya.clusters.kubernetes_version import parse


@dataclass(frozen=True, slots=True)
class Release:
    """One minor."""

    core_dns: str
    konnectivity: str
    """Its agents are released less often than Kubernetes: the newest that is not ahead of the minor."""
    names_proxy_mode: bool = False
    """kube-proxy warns if nobody says how it shall work, so kubeadm says it."""


_RELEASES: Final = {
    34: Release(core_dns="v1.12.1", konnectivity="v0.34.0"),
    35: Release(core_dns="v1.13.1", konnectivity="v0.34.0"),
    36: Release(core_dns="v1.14.2", konnectivity="v0.36.0"),
    37: Release(core_dns="v1.14.6", konnectivity="v0.36.0", names_proxy_mode=True),
}
OLDEST: Final = min(_RELEASES)
NEWEST: Final = max(_RELEASES)


def release_of(version: str) -> Release:
    """What holds for a version such as `v1.36.3`. Of minors that are not known yet the newest known is the best guess.

    Raises ValueError if it is no version, or an older minor than can be set up.
    """
    parsed = parse(version)
    if parsed is None or parsed.major != 1:
        raise ValueError(f"{version!r} is not a version of Kubernetes 1")
    if parsed.minor < OLDEST:
        raise ValueError(f"Kubernetes {version} is too old to be set up: 1.{OLDEST} is the oldest minor")
    return _RELEASES[min(parsed.minor, NEWEST)]


def image_tag(version: str) -> str:
    """The tag of Kubernetes' own images: `+` is not allowed in one."""
    return spelled(version).replace("+", "_")


def spelled(version: str) -> str:
    """A version with its v, as Kubernetes itself writes it."""
    return version if version.startswith("v") else f"v{version}"
