"""Which built-in resources are served, and how: names, scope, verbs and subresources.

The table `data/resources.txt` is what a kube-apiserver 1.36 serves by default, in the order of its discovery. What
Nagaya leaves out of it is listed here, once, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType
from typing import Final

from nagaya.apiserver.builtins.facts import DATA
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource

LEFT_OUT: Final[Mapping[str, str]] = {
    "componentstatuses": "deprecated; asks a scheduler and a controller manager for their health, and there are none",
    "nodes/proxy": "there are no kubelets to reach",
    "pods/attach": "no pod runs",
    "pods/exec": "no pod runs",
    "pods/log": "no pod runs",
    "pods/portforward": "no pod runs",
    "pods/proxy": "no pod runs",
    "services/proxy": "there is no service network",
}
"""Resources of the core group that the real server serves and this one does not."""


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part or an action of an object with a URL of its own, such as `status` or `token`."""

    name: str
    kind: GroupVersionKind
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BuiltinResource:
    """One resource in one version."""

    group: str
    version: str
    resource: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: Mapping[str, Subresource] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def gvr(self) -> GroupVersionResource:
        """What a URL names."""
        return GroupVersionResource(self.group, self.version, self.resource)

    @property
    def gvk(self) -> GroupVersionKind:
        """What the objects say they are."""
        return GroupVersionKind(self.group, self.version, self.kind)


@cache
def all_resources() -> tuple[BuiltinResource, ...]:
    """Every resource that is served, in the order of discovery."""
    blocks = (DATA / "resources.txt").read_text().split("\n\n")
    return tuple(resource for block in blocks for resource in _read(block.strip().splitlines()))


@cache
def by_gvr() -> Mapping[GroupVersionResource, BuiltinResource]:
    """Every resource that is served, by what a URL names."""
    return MappingProxyType({each.gvr: each for each in all_resources()})


@cache
def by_gvk() -> Mapping[GroupVersionKind, BuiltinResource]:
    """Every resource that is served, by what its objects say they are."""
    return MappingProxyType({each.gvk: each for each in all_resources()})


@cache
def group_versions() -> tuple[GroupVersion, ...]:
    """Every group version that is served, in the order of discovery. A group's first version is its preferred one."""
    return tuple(dict.fromkeys(each.gvr.group_version for each in all_resources()))


def _read(lines: list[str]) -> Iterator[BuiltinResource]:
    group, version = lines[0].split(" ")
    group = "" if group == "core" else group
    entries = [line.split(" ") for line in lines[1:]]
    if not group:
        entries = [entry for entry in entries if entry[0] not in LEFT_OUT]
    subresources: dict[str, dict[str, Subresource]] = {}
    for name, kind, _, *markers in entries:
        parent, slash, sub = name.partition("/")
        if slash:
            verbs = _list(dict(marker.split("=") for marker in markers), "verbs")
            subresources.setdefault(parent, {})[sub] = Subresource(sub, _kind(kind, group, version), verbs)
    for name, kind, scope, *markers in entries:
        if "/" not in name:
            marked = dict(marker.split("=") for marker in markers)
            yield BuiltinResource(
                group,
                version,
                name,
                marked["singular"],
                kind,
                scope == "namespaced",
                _list(marked, "verbs"),
                _list(marked, "short"),
                _list(marked, "categories"),
                MappingProxyType(subresources.get(name, {})),
            )


def _kind(text: str, group: str, version: str) -> GroupVersionKind:
    return GroupVersionKind(*text.split("/")) if "/" in text else GroupVersionKind(group, version, text)


def _list(marked: Mapping[str, str], key: str) -> tuple[str, ...]:
    return tuple(marked[key].split(",")) if key in marked else ()
