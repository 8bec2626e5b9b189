"""What this process has found out or done for a tenant, and need not do again as long as it lives.

Nothing here has to survive: after a restart everything is done once more, and finds itself done.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from nagaya.controlplane.hosted.components.facts import TenantFacts
from nagaya.controlplane.hosted.control_plane.facts import Declared
from nagaya.controlplane.hosted.data_store.tenant_store import TenantStore
from nagaya.controlplane.hosted.host.certificates import Authorities, Certificates
from nagaya.controlplane.hosted.host.tenant_folder import TenantFolder
from nagaya.controlplane.hosted.tenant.keeper import Outcome


@dataclass(frozen=True, slots=True)
class FilesFor:
    """What the files of a tenant depend on: made anew when one of it changes."""

    declared: Declared
    version: str
    authorities: Authorities
    store: TenantStore
    encryption: bytes = field(default=b"", repr=False)

    def is_same(self, other: FilesFor) -> bool:
        """Whether files made for one are those of the other. What is told in statuses does not matter."""
        mine, theirs = self.declared, other.declared
        return (
            mine.plane.spec == theirs.plane.spec
            and mine.listening == theirs.listening
            and mine.cluster.spec.cluster_network == theirs.cluster.spec.cluster_network
            and mine.cluster.metadata.name == theirs.cluster.metadata.name
            and (self.version, self.authorities, self.store, self.encryption)
            == (other.version, other.authorities, other.store, other.encryption)
        )


@dataclass(frozen=True, slots=True)
class Files:
    """The files of a tenant as they were made."""

    made_for: FilesFor
    facts: TenantFacts
    ports: Mapping[str, int]
    hashes: Mapping[str, str]
    certificates: Certificates
    folder: TenantFolder


@dataclass(slots=True)
class Known:
    """One tenant."""

    store: TenantStore | None = None
    """Its place in the data store."""
    store_due: datetime | None = None
    """When that is to be made sure of again."""
    store_problem: str = ""
    files: Files | None = None
    files_problem: str = ""
    setup: Outcome | None = None
    """How its API is set up, when last compared."""
