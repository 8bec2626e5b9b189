"""How a VM gets its boot data, how long its steps may take, and what happens when its host is gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

from nagaya.api.model import Model, doc
from nagaya.api.proxmox.formats import STORAGE

ISO: Final = "iso"
NATIVE: Final = "native"
AUTO: Final = "auto"

WAIT: Final = "Wait"
RELEASE: Final = "Release"

DeletionPolicy = Annotated[
    str | None,
    doc(
        "What happens to a deleted machine whose host does not answer. Wait: it stays until the host is back and the "
        "VM is destroyed. Release: it goes, so that another can take its place; the reservation of its VMID stays, and "
        "the VM is destroyed when the host is back. Make sure that the host is really off: two machines with one "
        "address would be up. Wait if left out.",
        enum=[WAIT, RELEASE],
    ),
]


class BootDelivery(Model):
    """How the boot data gets into the VM."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    method: Annotated[
        str | None,
        doc(
            "iso: on a CD that is taken out when the machine has booted. native: by the cloud-init drive of Proxmox VE "
            "and the guest agent. auto: iso if the token may upload, else native. auto if left out.",
            enum=[ISO, NATIVE, AUTO],
        ),
    ] = None
    slot: Annotated[
        str | None,
        doc(
            "Where the CD is plugged in. ide0 if left out, or else the first place that the machine type has.",
            minLength=4,
            maxLength=6,
            pattern=r"^(ide[0-3]|sata[0-5]|scsi([0-9]|[12][0-9]|30))$",
        ),
    ] = None
    storage: Annotated[
        str,
        doc(
            "The storage for CD images. What the connection says if left out, or else the first one that takes them.",
            minLength=2,
            maxLength=100,
            pattern=STORAGE,
        ),
    ] = ""


class Timeouts(Model):
    """After how long a step counts as failed. It is reported then, and tried again where that is safe."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    clone_seconds: Annotated[
        int | None, doc("From the order to clone until the VM is there. 3600 if left out.", minimum=1, maximum=86400)
    ] = None
    start_seconds: Annotated[
        int | None, doc("From the order to start until the VM runs. 300 if left out.", minimum=1, maximum=86400)
    ] = None
    boot_seconds: Annotated[
        int | None,
        doc(
            "From the start until guest agent and cloud-init are done and the Machine has its Node. 1800 if left out; "
            "then the condition says what is known, and it is waited on.",
            minimum=1,
            maximum=86400,
        ),
    ] = None
    stop_seconds: Annotated[
        int | None,
        doc(
            "How long a VM has to shut down before it is turned off, when it is deleted. 0 if left out: at once.",
            minimum=0,
            maximum=86400,
        ),
    ] = None


DEFAULT_CLONE_SECONDS: Final = 3600
DEFAULT_START_SECONDS: Final = 300
DEFAULT_BOOT_SECONDS: Final = 1800
DEFAULT_STOP_SECONDS: Final = 0
