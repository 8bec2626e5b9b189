"""What the tenants of one process share, so that thousands of them are cheap: the pace of their heartbeats, and the
objects that every new cluster has.

Whoever starts many tenants makes one `Shared` and gives it to all of them. It holds nothing that one tenant could
change for another.
"""

from __future__ import annotations

from nagaya.allowed_endpoints import Publication
from nagaya.apiserver.seed import Seed
from nagaya.apiserver.server import ApiServer
from nagaya.simulators.tenant.pace import Pace


class Shared:
    """Common to some tenants."""

    def __init__(self, pace: Pace | None = None, *, publication: Publication | None = None) -> None:
        """`publication` hears where tenants listen."""
        self.pace = pace or Pace()
        self.publication = publication
        self.seed: Seed | None = None

    async def take_seed(self, server: ApiServer) -> None:
        """Let later servers begin with what the first one made."""
        if self.seed is None:
            await server.settled()
            self.seed = Seed(server.store)
