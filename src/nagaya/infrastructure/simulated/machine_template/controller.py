"""The SimulatedMachineTemplate controller: it tells what Nodes of such machines will offer.

The cluster autoscaler reads it to decide whether machines of a group that has none would help. It takes quantities as
strings only.
"""

from __future__ import annotations

from typing import Final

from nagaya.api.cluster.annotations import PAUSED
from nagaya.api.simulated.simulated_machine import ARCHITECTURE, OPERATING_SYSTEM, offered
from nagaya.api.simulated.simulated_machine_template import (
    SIMULATED_MACHINE_TEMPLATES,
    SimulatedMachineTemplateStatus,
    TemplateNodeInfo,
)
from nagaya.kube.controller import Controller, Result
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

MANAGER: Final = "nagaya-simulatedmachinetemplate"
FIELDS: Final = ("capacity", "nodeInfo")
WORKERS: Final = 2


def controller(rt: Runtime, *, workers: int = WORKERS) -> Controller:
    """The controller, to be run by a Manager with the same cache."""
    api = rt.api(MANAGER)

    async def reconcile(key: Key) -> Result | None:
        template = rt.cache.get(SIMULATED_MACHINE_TEMPLATES, key)
        if template is None or template.metadata.deleting or PAUSED in template.metadata.annotations:
            return None
        told = SimulatedMachineTemplateStatus(
            capacity=offered(template.spec.template.spec),
            node_info=TemplateNodeInfo(architecture=ARCHITECTURE, operating_system=OPERATING_SYSTEM),
        )
        await api.status(SIMULATED_MACHINE_TEMPLATES, template, told, fields=FIELDS)
        return None

    return Controller("simulatedmachinetemplate", SIMULATED_MACHINE_TEMPLATES, reconcile, workers=workers)
