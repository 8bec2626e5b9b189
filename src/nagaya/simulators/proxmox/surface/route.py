"""A route of PVE's API: what it takes, who may call it, and where it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from nagaya.simulators.proxmox.surface.schema import Schema

Check = tuple["str | int | Check", ...]
"""Rights in prefix notation, as PVE writes them: ("and", ("perm", "/vms/{vmid}", ("VM.Clone",)), ...)."""


@dataclass(frozen=True, slots=True)
class Permissions:
    """Who may call a route. With neither `user` nor `check` the code of the call decides."""

    user: str | None = None
    """"all": everyone who is known; "world": everyone."""
    check: Check | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class Route:
    """One method on one path. Its schemas are made when they are first asked for; most never are."""

    method: str
    path: str
    """With `{name}` for each parameter in it, e.g. /nodes/{node}/qemu/{vmid}/config."""
    name: str
    """PVE's own name of the method, e.g. clone_vm."""
    permissions: Permissions | None
    """None: only root@pam."""
    protected: bool
    """Whether it runs in the daemon that is root (pvedaemon), which pveproxy has to reach."""
    proxy_to: str | None
    """The parameter with the host that has to do it; None, or one that is not given: the host that was asked does."""
    allow_token: bool
    make_parameters: Callable[[], Schema] = field(repr=False)
    make_returns: Callable[[], Schema] = field(repr=False)

    @cached_property
    def parameters(self) -> Schema:
        """All that can be given, in the path as well as in the query or body."""
        return self.make_parameters()

    @cached_property
    def returns(self) -> Schema:
        """The shape of `data` in the answer."""
        return self.make_returns()


@dataclass(frozen=True, slots=True)
class Found:
    """The route of a request, and the parameters that were in its path."""

    route: Route
    path_parameters: Mapping[str, str]
