"""Talking to Proxmox VE: typed calls and errors, failover between hosts, tasks, inventory, trace.

`Proxmox` is the way in. How a call goes (what is repeated, what never is) stands in `calls`, how tasks are asked about
in `tasks`, what each error means in `errors`.
"""

from nagaya.infrastructure.proxmox.client.calls import Calls
from nagaya.infrastructure.proxmox.client.credentials import Credentials, Password, Token
from nagaya.infrastructure.proxmox.client.endpoint import BadEndpoint, Endpoint, endpoint
from nagaya.infrastructure.proxmox.client.facts import BadFacts, Facts
from nagaya.infrastructure.proxmox.client.inventory import Inventory, Snapshot
from nagaya.infrastructure.proxmox.client.metrics import ClientMetrics
from nagaya.infrastructure.proxmox.client.multipart import Upload
from nagaya.infrastructure.proxmox.client.proxmox import Proxmox
from nagaya.infrastructure.proxmox.client.task_state import Phase, TaskState
from nagaya.infrastructure.proxmox.client.tasks import Tasks
from nagaya.infrastructure.proxmox.client.trust import BadTrust, Trust, fingerprint
from nagaya.infrastructure.proxmox.client.upid import Upid, upid

__all__ = [
    "BadEndpoint",
    "BadFacts",
    "BadTrust",
    "Calls",
    "ClientMetrics",
    "Credentials",
    "Endpoint",
    "Facts",
    "Inventory",
    "Password",
    "Phase",
    "Proxmox",
    "Snapshot",
    "TaskState",
    "Tasks",
    "Token",
    "Trust",
    "Upid",
    "Upload",
    "endpoint",
    "fingerprint",
    "upid",
]
