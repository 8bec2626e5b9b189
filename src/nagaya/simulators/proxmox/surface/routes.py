"""Which route a request means.

PVE keeps its paths as a tree. Below a folder there are either named folders or one parameter, never both, so each path
has at most one meaning. Empty parts of a path do not count. A volume is named by all that is left of a path, with its
slashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nagaya.simulators.proxmox.surface.route import Found, Route

WHOLE_REST = "/nodes/{node}/storage/{storage}/content/{volume}"
_PARAMETER = re.compile(r"^(\S+)$")


class _Folder:
    __slots__ = ("folders", "methods", "parameter", "whole_rest")

    def __init__(self) -> None:
        self.folders: dict[str, _Folder] = {}
        self.parameter: tuple[str, _Folder] | None = None
        self.whole_rest = False
        self.methods: dict[str, Route] = {}


class Routes:
    """All routes of one version of PVE."""

    def __init__(self, version: str, routes: Iterable[Route]) -> None:
        self.version = version
        self._root = _Folder()
        self._all = tuple(routes)
        for route in self._all:
            self._add(route)

    def __iter__(self) -> Iterator[Route]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def find(self, method: str, path: str) -> Found | None:
        """The route for a decoded path below /api2/json, or None: PVE then answers that it is not implemented."""
        walked = self._walk(path)
        if walked is None or (route := walked[0].methods.get(method)) is None:
            return None
        return Found(route, walked[1])

    def knows_path(self, path: str) -> bool:
        """Whether any method exists there."""
        walked = self._walk(path)
        return walked is not None and bool(walked[0].methods)

    def get(self, method: str, path: str) -> Route:
        """The route by its template, e.g. ("POST", "/nodes/{node}/qemu")."""
        found = self.find(method, path)
        if found is None or found.route.path != path:
            raise KeyError(f"{method} {path}")
        return found.route

    def _add(self, route: Route) -> None:
        folder = self._root
        for part in filter(None, route.path.split("/")):
            if part.startswith("{"):
                if folder.parameter is None:
                    folder.parameter = (part[1:-1], _Folder())
                    folder.whole_rest = route.path == WHOLE_REST and part == "{volume}"
                folder = folder.parameter[1]
            else:
                folder = folder.folders.setdefault(part, _Folder())
        folder.methods[route.method] = route

    def _walk(self, path: str) -> tuple[_Folder, dict[str, str]] | None:
        parts = [part for part in path.split("/") if part]
        folder = self._root
        parameters: dict[str, str] = {}
        for index, part in enumerate(parts):
            if folder.parameter is None:
                below = folder.folders.get(part)
                if below is None:
                    return None
                folder = below
                continue
            whole = "/".join(parts[index:]) if folder.whole_rest else part
            matched = _PARAMETER.match(whole)
            if matched is None:
                return None
            name, below = folder.parameter
            parameters[name] = matched[1]
            if folder.whole_rest:
                return below, parameters
            folder = below
        return folder, parameters
