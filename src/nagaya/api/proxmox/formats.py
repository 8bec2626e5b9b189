"""How names of Proxmox VE are spelled. The patterns are part of the API."""

from __future__ import annotations

from typing import Annotated, Final

from nagaya.api.model import doc

NET_NAME: Final = r"^net[0-9]+$"
TAG: Final = r"^[a-zA-Z0-9_][a-zA-Z0-9_\-\+\.]*$"
PROVIDER_ID: Final = r"^proxmox://[a-fA-F0-9]{8}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{4}-[a-fA-F0-9]{12}$"
MAC_ADDRESS: Final = r"^[a-fA-F0-9][02468aceACE](:[a-fA-F0-9]{2}){5}$"
STORAGE: Final = r"^[a-zA-Z][a-zA-Z0-9\-_.]*[a-zA-Z0-9]$"
DISK_SLOT: Final = r"^(scsi([0-9]|[12][0-9]|30)|virtio([0-9]|1[0-5])|sata[0-5]|ide[0-3])$"

FIRST_VMID: Final = 100
LAST_VMID: Final = 999999999

HostName = Annotated[str, doc("The name of a host of Proxmox VE.", minLength=1, maxLength=63)]
StorageName = Annotated[str, doc("The name of a storage.", minLength=2, maxLength=100, pattern=STORAGE)]
Tag = Annotated[str, doc("A tag, as Proxmox VE has them on VMs.", minLength=1, maxLength=124, pattern=TAG)]
NetName = Annotated[
    str, doc("The name of a network device: net0, net1, ...", minLength=4, maxLength=5, pattern=NET_NAME)
]
DnsServer = Annotated[str, doc("The address of a name server.", minLength=1, maxLength=253)]
