"""Keys that firmware comes with: PVE warns at every start of a machine whose keys are about to expire.

It goes by what stands in the configuration, not by what is on the disk.
"""

from __future__ import annotations

from nagaya.simulators.proxmox.qemu.drives import parse_drive
from nagaya.simulators.proxmox.state.guest import Options
from nagaya.simulators.proxmox.tasks.runner import Log

NEWEST = "2023k"
"""What the disks of new machines have."""


def warn_of_old(vmid: int, section: Options, log: Log) -> None:
    """Tell that the disk with a machine's firmware lacks the newest keys, and what to do."""
    drive = parse_drive("efidisk0", str(section["efidisk0"])) if section.get("efidisk0") else None
    if section.get("bios") != "ovmf" or drive is None or not drive.values.get("pre-enrolled-keys"):
        return
    if drive.values.get("ms-cert") == NEWEST:
        return
    log.warn("EFI disk without 'ms-cert=2023k' option, suggesting that not all UEFI 2023")
    for line in (
        "certificates from Microsoft are enrolled yet.",
        "The UEFI 2011 certificates expire in June 2026! The new certificates are required",
        "for secure boot update for Windows and common Linux distributions.",
        "Use 'Disk Action > Enroll Updated Certificates' in the UI or, while the VM is",
        f"shut down, run 'qm enroll-efi-keys {vmid}' to enroll the new certificates.",
        "",
        "For Windows with BitLocker, run the following command inside Powershell:",
        "  manage-bde -protectors -disable <drive>",
        "for each drive with BitLocker (for example, <drive> could be 'C:').",
        "This is required for each drive with BitLocker before proceeding with enrollment.",
        "Otherwise, you will be prompted for the BitLocker recovery key on the next boot.",
    ):
        log.say(line)
