"""Whether the demo's control plane can be a real one: the programs are there, or the release sites have them.

They are never compiled for it: a newcomer who types one command did not ask to wait ten minutes for a compiler.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from typing import Final

from nagaya.binaries.errors import BinariesError, BinariesUnavailable
from nagaya.binaries.installer import Installer
from nagaya.binaries.progress import Reporter, reporter_for
from nagaya.world import World

PROGRAMS: Final = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "etcd")
COMMAND: Final = "nagaya kubernetes install"


async def lacking(version: str, world: World, say: Callable[[str], None]) -> str:
    """Why there cannot be a real control plane; empty if there can. Downloads what is missing, if that is possible."""
    _, missing = Installer(world=world).find(version, PROGRAMS)
    if not missing:
        return ""
    say(f"Looking for {', '.join(missing)} of Kubernetes {version} on the release sites ...")
    reporter = reporter_for(sys.stderr, world.clock)
    try:
        await asyncio.to_thread(_download, version, world, reporter)
    except (BinariesError, OSError) as error:
        return f"{', '.join(missing)} of Kubernetes {version} cannot be had: {reason(error)}"
    return ""


def reason(error: Exception) -> str:
    """Why, without the remedies, which are not those of the demo."""
    if isinstance(error, BinariesUnavailable) and error.attempts:
        return "; ".join(dict.fromkeys(each.reason.rstrip(".") for each in error.attempts))
    return str(error).splitlines()[0].rstrip(".:")


def _download(version: str, world: World, reporter: Reporter) -> None:
    Installer(reporter=reporter, world=world, build=False).ensure(version, PROGRAMS)
