"""The disk of a machine that only pretends: the files that outlive a restart, and the boot data that stand among them.

What always holds: a disk belongs to one machine, known by its number and its SMBIOS UUID, so that a later machine of
the same number begins with an empty one. What is below /run or in memory is not on it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from nagaya.simulators.proxmox.qemu.cloud_init import BootData

SEED: Final = "/var/lib/cloud/seed/nocloud"
INSTANCE: Final = "/var/lib/cloud/data/instance-id"
SEED_FOLDER: Final = "seed folder"
"""How boot data from the disk are labelled, where those of a drive have the drive's label."""
_SWITCHES: Final = "/etc/cloud/cloud.cfg.d"
_MEMORY: Final = ("/run/", "/" + "tmp/")
FOLDERS: Final = frozenset(
    {"/", "/etc", _SWITCHES, "/home", "/opt", "/root", "/run", "/" + "tmp", "/var", "/var/lib", "/var/lib/cloud",
     "/var/lib/cloud/seed", "/var/log", "/var/" + "tmp"}
)  # fmt: skip
"""Those that every system has."""


@dataclass(slots=True)
class GuestDisk:
    """What a machine has written."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: set[str] = field(default_factory=lambda: set(FOLDERS))

    def restarted(self) -> None:
        """What was only in memory is gone."""
        for path in [path for path in self.files if path.startswith(_MEMORY)]:
            del self.files[path]

    def seed(self) -> BootData | None:
        """Boot data in the folder where cloud-init looks for them, if a drive does not go before them.

        A drive with the label that cloud-init looks for goes before; unless its configuration says not to look for one.
        """
        user, meta = self._seed("user-data"), self._seed("meta-data")
        if not user or not meta or not self._folder_only():
            return None
        return BootData(user, self._seed("network-config"), meta, self._seed("vendor-data"), SEED_FOLDER)

    def forget_instance(self) -> None:
        """As `cloud-init clean` does: the next start is the first one."""
        self.files.pop(INSTANCE, None)

    def _seed(self, name: str) -> str:
        return self.files.get(f"{SEED}/{name}", b"").decode("utf-8", "replace")

    def _folder_only(self) -> bool:
        return any(
            path.startswith(f"{_SWITCHES}/") and path.endswith(".cfg") and b"fs_label: null" in content
            for path, content in self.files.items()
        )
