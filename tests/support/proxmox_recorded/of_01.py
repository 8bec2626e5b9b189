"""What there was before the file on authentication: the lab was young then."""

from __future__ import annotations

from support.proxmox_lab import ProxmoxLab


async def begin(lab: ProxmoxLab) -> None:
    """Only VM 100, and nothing yet known of pve2's certificate."""
    guests = lab.datacenter.guests
    for vmid in [vmid for vmid in guests if vmid != 100]:
        del guests[vmid]
    lab.datacenter.nodes["pve2"].fingerprint = None
