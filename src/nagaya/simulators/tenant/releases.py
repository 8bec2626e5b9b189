"""What kubeadm of a Kubernetes minor installs besides Kubernetes itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Release:
    """One minor: tags of images."""

    core_dns: str
    etcd: str

    @property
    def etcd_version(self) -> str:
        """What etcd itself says; the tag has the number of the build too."""
        return self.etcd.partition("-")[0]


_RELEASES: Final = {
    33: Release(core_dns="v1.12.0", etcd="3.5.24-0"),
    34: Release(core_dns="v1.12.1", etcd="3.6.5-0"),
    35: Release(core_dns="v1.13.1", etcd="3.6.6-0"),
    36: Release(core_dns="v1.14.2", etcd="3.6.8-0"),
    37: Release(core_dns="v1.14.6", etcd="3.7.0-0"),
}
_minor = re.compile(r"v?1\.(\d{1,4})\b").match


def release_of(version: str) -> Release:
    """What belongs to a version such as `v1.36.3`; of minors that are not known, the nearest one that is."""
    found = _minor(version)
    minor = int(found[1]) if found else max(_RELEASES)
    return _RELEASES[min(max(minor, min(_RELEASES)), max(_RELEASES))]
