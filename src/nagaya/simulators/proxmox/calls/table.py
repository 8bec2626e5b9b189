"""The handlers of all routes: those of every module below `calls` that has some.

Found, not listed, so that a module for a new noun works as soon as it is there. Two for one route are a mistake.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from nagaya.simulators.proxmox import calls
from nagaya.simulators.proxmox.calls.call import Handler, Handlers


@cache
def handlers() -> Mapping[tuple[str, str], Handler]:
    """By method and path."""
    found: dict[tuple[str, str], Handler] = {}
    for module in pkgutil.walk_packages(calls.__path__, f"{calls.__name__}."):
        own = getattr(importlib.import_module(module.name), "handlers", None)
        if isinstance(own, Handlers):
            twice = found.keys() & own.found.keys()
            if twice:
                raise RuntimeError(f"{module.name} handles routes that another module handles: {sorted(twice)}")
            found.update(own.found)
    return MappingProxyType(found)
