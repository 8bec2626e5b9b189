"""What every part of one server shares: its store, its catalog of resources, its rules and its world.

There is one `Backend` per server and nothing beside it: no module keeps state of its own, so many servers can live in
one process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from nagaya.apiserver.admission.chain import Admission
from nagaya.apiserver.authz.authorizer import Authorizer
from nagaya.apiserver.authz.escalation import EscalationCheck
from nagaya.apiserver.custom.given_versions import Versions
from nagaya.apiserver.meta import times
from nagaya.apiserver.registry.catalog import Catalog
from nagaya.apiserver.storage import Store
from nagaya.world import World


@dataclass(slots=True)
class Backend:
    """The parts of one server."""

    world: World
    store: Store
    catalog: Catalog
    admission: Admission
    authorizer: Authorizer
    escalation: EscalationCheck
    versions: Mapping[str, Versions] = field(default_factory=dict)  # given ones, by `plural.group`

    def now(self) -> str:
        """The current time as it is written on objects."""
        return times.of(self.world.clock.now())
