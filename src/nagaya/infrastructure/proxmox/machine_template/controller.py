"""The ProxmoxMachineTemplate controller: it tells what Nodes of such machines will offer."""

from __future__ import annotations

from typing import Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.proxmox.proxmox_machine_template import (
    PROXMOX_MACHINE_TEMPLATES,
    ProxmoxMachineTemplateStatus,
    TemplateNodeInfo,
)
from nagaya.infrastructure.proxmox.machine_template.capacity import architecture, capacity
from nagaya.kube.controller import Controller, Result
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

MANAGER: Final = "nagaya-proxmoxmachinetemplate"
FIELDS: Final = ("capacity", "nodeInfo")
OPERATING_SYSTEM: Final = "linux"
WORKERS: Final = 2


def controller(rt: Runtime, *, workers: int = WORKERS) -> Controller:
    """The controller, to be run by a Manager with the same cache."""
    api = rt.api(MANAGER)

    async def reconcile(key: Key) -> Result | None:
        template = rt.cache.get(PROXMOX_MACHINE_TEMPLATES, key)
        if template is None or template.metadata.deleting or PAUSED in template.metadata.annotations:
            return None
        spec = template.spec.template.spec
        told = ProxmoxMachineTemplateStatus(
            capacity=capacity(spec),
            node_info=TemplateNodeInfo(architecture=architecture(spec), operating_system=OPERATING_SYSTEM),
        )
        await api.status(PROXMOX_MACHINE_TEMPLATES, template, told, fields=FIELDS)
        return None

    return Controller("proxmoxmachinetemplate", PROXMOX_MACHINE_TEMPLATES, reconcile, workers=workers)
