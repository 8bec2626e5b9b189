"""Which hosts may have a machine, and which of them gets it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final

import msgspec

from nagaya.api.model import Model, doc
from nagaya.api.proxmox.formats import HostName, StorageName

SPREAD_PREFERRED: Final = "Preferred"
SPREAD_REQUIRED: Final = "Required"
SPREAD_NONE: Final = "None"


class Overcommit(Model):
    """How much of a host is given away."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    cpu_percent: Annotated[
        int | None,
        doc(
            "How many processors VMs may have together, in percent of the host's: 400 is four for one. 0 is without "
            "limit, as if left out.",
            minimum=0,
            maximum=10000,
        ),
    ] = None
    memory_percent: Annotated[
        int | None,
        doc(
            "How much memory VMs may have together, in percent of the host's. 0 is without limit. If left out it is "
            "what schedulerHints.memoryAdjustment of the cluster says, or else 100.",
            minimum=0,
            maximum=1000,
        ),
    ] = None


class Reserve(Model):
    """What is kept free on every host."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    memory_mib: Annotated[int | None, doc("Memory for the host itself, in MiB. None if left out.", minimum=0)] = (
        msgspec.field(default=None, name="memoryMiB")
    )
    storage_gb: Annotated[
        int | None, doc("Space that stays free on every storage, in GiB. None if left out.", minimum=0)
    ] = None


class Placement(Model):
    """Rules for the choice of a host. What a machine says goes before what its cluster says, field by field."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    denied_nodes: Annotated[
        tuple[HostName, ...],
        doc("Hosts that get no machines, even if allowedNodes has them.", minItems=1, maxItems=128, list_type="set"),
    ] = ()
    spread: Annotated[
        str | None,
        doc(
            "Whether machines of one role and cluster go to different hosts. Preferred: as far as there are hosts. "
            "Required: never two on one host; a machine waits instead. None: most free memory decides. Preferred if "
            "left out.",
            enum=[SPREAD_PREFERRED, SPREAD_REQUIRED, SPREAD_NONE],
        ),
    ] = None
    overcommit: Annotated[Overcommit | None, doc("How much of a host is given away.")] = None
    reserve: Annotated[Reserve | None, doc("What is kept free on every host.")] = None
    storages: Annotated[
        tuple[StorageName, ...],
        doc(
            "The storages for disks that name none, the best first: the first one with enough space is taken. That "
            "of the template if left out.",
            minItems=1,
            maxItems=32,
            list_type="atomic",
        ),
    ] = ()


class HighAvailability(Model):
    """What the HA manager of Proxmox VE does for the VM."""

    __schema__: ClassVar[Mapping[str, object]] = {"minProperties": 1}

    enabled: Annotated[
        bool | None, doc("Whether the HA manager looks after the VM and starts it elsewhere when its host dies.")
    ] = None
    group: Annotated[
        str, doc("The HA group that the VM is in. Proxmox VE has them up to 8.", minLength=2, maxLength=128)
    ] = ""
    rules: Annotated[
        tuple[Annotated[str, doc("The name of a rule.", minLength=2, maxLength=128)], ...],
        doc(
            "The HA rules that the VM is added to. Proxmox VE has them since 9, instead of groups.",
            minItems=1,
            maxItems=16,
            list_type="set",
        ),
    ] = ()
    affinity: Annotated[
        str | None,
        doc(
            "Whether the HA manager keeps machines of one role and cluster apart (Separate) or on one host (Together). "
            "It needs Proxmox VE 9.",
            enum=["Separate", "Together"],
        ),
    ] = None
    max_restart: Annotated[
        int | None, doc("How often the VM is started again on its host before it moves.", minimum=0, maximum=10)
    ] = None
    max_relocate: Annotated[
        int | None, doc("How often the VM moves before the HA manager gives up.", minimum=0, maximum=10)
    ] = None
