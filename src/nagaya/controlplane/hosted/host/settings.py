"""What the embedded mode is told: where tenants are, and what of this machine they get."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from nagaya.pki.certificates import LEAF_VALIDITY

PORTS: Final = range(16443, 17443)
"""Where the APIs of tenants listen, unless they ask for another port. Below the ports that the system gives to
connections, so that none of those sits on one of them."""
LOCAL_PORTS: Final = range(17443, 19999)
"""Where programs of tenants listen on loopback."""
USERS: Final = range(200_000, 265_536)
"""Who programs of tenants run as, if Nagaya is root."""


@dataclass(frozen=True, slots=True)
class HostSettings:
    """One machine."""

    folder: Path
    """Holds tenants, their processes, and the data stores that Nagaya starts itself."""
    address: str = ""
    """The address of this machine at which tenants' APIs listen; that of the default route if it is empty."""
    ports: range = PORTS
    local_ports: range = LOCAL_PORTS
    users: range = USERS
    isolated: bool = True
    """Whether programs of tenants run as users of their own where that is possible: where Nagaya is root."""
    leaf_validity: timedelta = LEAF_VALIDITY
    """How long the certificates of tenants' programs last; each is renewed when a third of that is left."""
    stop_with_us: bool = False
    """Whether tenants end when Nagaya is stopped. They go on otherwise, and are found again at its next start."""

    @property
    def tenants(self) -> Path:
        """A folder for each tenant."""
        return self.folder / "tenants"

    @property
    def processes(self) -> Path:
        """What the supervisor keeps."""
        return self.folder / "processes"

    @property
    def stores(self) -> Path:
        """A folder for each data store that is on this machine."""
        return self.folder / "stores"
