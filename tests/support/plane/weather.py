"""What goes wrong on the ways that controllers have to others, for a while or once, until all is calm.

Each storm has its own chance, so that one that is left out of a story changes nothing for the others.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from enum import StrEnum


class Way(StrEnum):
    """Whom is talked to."""

    MANAGEMENT = "management API"
    HOSTS = "Proxmox VE"
    TENANTS = "tenants"
    STORES = "the data store"


class Fate(StrEnum):
    """How a call goes wrong."""

    REFUSED = "is refused, nothing is sent"
    ERROR = "is answered with an error"
    LOST = "takes effect, the answer is lost"
    HANGS = "hangs and has no effect"
    HANGS_AFTER = "takes effect and hangs"
    LATE = "takes effect, the answer comes late"


class News(StrEnum):
    """How an event of a watch goes wrong."""

    LATE = "comes late"
    TWICE = "comes twice"
    BROKEN = "is lost with its watch"
    FORGOTTEN = "is lost with its watch, and with the history"


@dataclass(slots=True)
class Storm:
    """Calls on a way that go wrong by chance."""

    way: Way
    fate: Fate
    share: float
    random: random.Random


@dataclass(slots=True)
class Fog:
    """Watches on a way that tell what happens otherwise than they should."""

    way: Way
    share: float
    random: random.Random


@dataclass(slots=True)
class Mishap:
    """One call that goes wrong, when so many others have gone well."""

    way: Way
    fate: Fate
    skip: int


@dataclass(slots=True)
class Weather:
    """All that goes wrong at the moment."""

    storms: list[Storm] = field(default_factory=list)
    fogs: list[Fog] = field(default_factory=list)
    mishaps: list[Mishap] = field(default_factory=list)
    faults: int = 0
    """How much went wrong."""

    def fate(self, way: Way) -> Fate | None:
        """What becomes of the next call; None if it goes well."""
        for mishap in self.mishaps:
            if mishap.way is way:
                mishap.skip -= 1
                if mishap.skip < 0:
                    self.mishaps.remove(mishap)
                    self.faults += 1
                    return mishap.fate
        for storm in self.storms:
            if storm.way is way and storm.random.random() < storm.share:
                self.faults += 1
                return storm.fate
        return None

    def news(self, way: Way) -> tuple[News, float] | None:
        """What becomes of the next event, and by how much it is late; None if it comes as it should."""
        for fog in self.fogs:
            if fog.way is way and fog.random.random() < fog.share:
                self.faults += 1
                return fog.random.choice([*News]), fog.random.uniform(0.0, 4.0)
        return None

    def clear(self) -> None:
        """All is calm."""
        self.storms.clear()
        self.fogs.clear()
        self.mishaps.clear()
