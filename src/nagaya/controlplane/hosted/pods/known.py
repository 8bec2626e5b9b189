"""What this process has found out or done for a tenant, and need not do again as long as it lives.

Nothing here has to survive: after a restart everything is done once more, and finds itself done.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from nagaya.controlplane.hosted.data_store.tenant_store import TenantStore
from nagaya.controlplane.hosted.host.certificates import Authorities
from nagaya.controlplane.hosted.pods.certificates import ProgramFiles
from nagaya.controlplane.hosted.tenant.keeper import Outcome
from nagaya.pki.kubeadm.identities import Identity
from nagaya.pki.kubeadm.inputs import Inputs


@dataclass(frozen=True, slots=True)
class FilesFor:
    """What the files of a tenant depend on, besides time."""

    authorities: Authorities
    inputs: Inputs
    servers: tuple[tuple[Identity, str], ...]


@dataclass(slots=True)
class Known:
    """One tenant."""

    store: TenantStore | None = None
    """Its place in the data store."""
    store_due: datetime | None = None
    """When that is to be made sure of again."""
    store_problem: str = ""
    files: ProgramFiles | None = None
    files_for: FilesFor | None = None
    files_problem: str = ""
    strangers: dict[str, str] = field(default_factory=dict)
    """Objects of others that are in the way, and what is to be said of each."""
    answered: dict[str, str] = field(default_factory=dict)
    """What each object looked like when it was last applied: where the server writes a value otherwise than we do, that
    is no reason to apply it again."""
    setup: Outcome | None = None
    """How its API is set up, when last compared."""
