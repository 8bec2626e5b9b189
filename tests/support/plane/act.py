"""Something that happens in a story at a certain time. It can be left out without harm to the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from support.plane.scene import Scene
    from support.plane.wish import Wish


@dataclass(frozen=True, slots=True)
class Act:
    """What happens, and when it begins. What it breaks for a while it mends itself before it ends."""

    at: float
    """Seconds after the beginning of the story."""

    async def happen(self, scene: Scene) -> None:
        """Let it happen."""
        raise NotImplementedError

    def wish(self, wishes: dict[str, Wish]) -> None:
        """Change what the user wants in the end, if the user does it."""

    def __str__(self) -> str:
        parts = [f"{name}={getattr(self, name)}" for name in self.__dataclass_fields__ if name != "at"]
        return f"{self.at:8.1f} s  {type(self).__name__} {' '.join(parts)}".rstrip()
