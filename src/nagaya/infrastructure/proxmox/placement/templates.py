"""Which template a machine on a host would be cloned from.

Proxmox VE clones to another host only if all disks, old and new, are on shared storages. So templates on local storages
are copied to every host by those who run them, with the same tags: the copy beside the machine is taken. Which
template is meant never depends on which hosts are on: otherwise a machine would silently be made from another image
while a host is off.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from nagaya.infrastructure.proxmox.placement.inventory import Host, Inventory, Template
from nagaya.infrastructure.proxmox.placement.wish import TagMatch, TemplateById, TemplateByTags, Wish

NO_TEMPLATE: Final = "TemplateNotFound"
AMBIGUOUS: Final = "TemplateAmbiguous"
_MAKE: Final = (
    "`nagaya proxmox image add` makes one; one that there is, but not for this token, can be used after `nagaya "
    "proxmox connect`."
)
_ALL_TAGS: Final = "Name all tags that it has (matchTags), or set matchPolicy to uniqueSubset or bestSubset."
_MORE_TAGS: Final = "Name more tags (matchTags), or set matchKubernetesVersion."


@dataclass(frozen=True, slots=True)
class NoTemplate:
    """Why there is none to clone from."""

    reason: str
    why: str
    remedy: str = _MAKE


class Copies:
    """The copies of the template that a machine is to be made from, and where they are."""

    def __init__(self, copies: Iterable[Template], inventory: Inventory) -> None:
        self._on = {each.name for each in inventory.hosts if each.online}
        self._shared = {(each.host, each.name) for each in inventory.storages if each.shared}
        self._by_host: dict[str, list[Template]] = {}
        for copy in copies:
            self._by_host.setdefault(copy.host, []).append(copy)
        self.hosts = frozenset(self._by_host)

    def usable(self, host: Host) -> Template | str:
        """The copy for a machine on this host, or why there is none: the host's own, else one on shared storages."""
        own = self._by_host.get(host.name)
        if own is not None:
            return _readable(own[0]) if len(own) == 1 else _alike(own)
        tried = [self._from(name, host) for name in sorted(self._by_host)]
        fitting = [each for each in tried if isinstance(each, Template)]
        if fitting:
            return min(fitting, key=lambda each: each.vmid)
        return "; ".join(each for each in tried if isinstance(each, str))

    def _from(self, name: str, host: Host) -> Template | str:
        """The copy on another host, or why nothing can be cloned from there."""
        copies = self._by_host[name]
        if len(copies) > 1:
            return _alike(copies)
        copy = copies[0]
        missing = f"template {copy.vmid} is not on {host.name}"
        if name not in self._on:
            return f"{missing}, and {name}, where it is, is off"
        if not copy.readable:
            return f"{missing}, and {_unreadable(copy)}"
        local = sorted({disk.storage for disk in copy.disks if (name, disk.storage) not in self._shared})
        return f"{missing}, and its storage {' and '.join(local)} on {name} is local" if local else copy


def meant(wish: Wish, inventory: Inventory) -> Copies | NoTemplate:
    """The copies of the template that a machine is to be made from."""
    if isinstance(wish.template, TemplateById):
        found = _by_id(wish.template, inventory.templates)
    else:
        found = _by_tags(wish.template, inventory.templates)
    return found if isinstance(found, NoTemplate) else Copies(found, inventory)


def _by_id(wanted: TemplateById, templates: Iterable[Template]) -> tuple[Template, ...] | NoTemplate:
    found = tuple(each for each in templates if each.vmid == wanted.vmid)
    if found:
        return found
    where = f" (it was to be on {wanted.host})" if wanted.host else ""
    return NoTemplate(NO_TEMPLATE, f"there is no template {wanted.vmid}{where}", f"Look at templateID. {_MAKE}")


def _by_tags(wanted: TemplateByTags, templates: Iterable[Template]) -> tuple[Template, ...] | NoTemplate:
    everything = tuple(templates)
    having = [each for each in everything if wanted.tags <= each.tags]
    if wanted.match is TagMatch.EXACT:
        found = tuple(each for each in having if each.tags == wanted.tags)
        remedy = f"{_ALL_TAGS} {_MAKE}" if having else _MAKE
        return found or NoTemplate(NO_TEMPLATE, _missing(wanted, everything, having), remedy)
    if not having:
        return NoTemplate(NO_TEMPLATE, _missing(wanted, everything, having))
    if wanted.match is TagMatch.BEST_SUBSET:
        fewest = min(len(each.tags) for each in having)
        having = [each for each in having if len(each.tags) == fewest]
    if len({each.tags for each in having}) > 1:
        names = ", ".join(f"{each.vmid} ({_tags(each.tags)})" for each in _ordered(having))
        why = f"the tags {_tags(wanted.tags)} do not tell which template is meant: {names}"
        return NoTemplate(AMBIGUOUS, why, _MORE_TAGS)
    return tuple(having)


def _missing(wanted: TemplateByTags, templates: Iterable[Template], having: Iterable[Template]) -> str:
    near = list(having)
    if near:
        names = ", ".join(f"{each.vmid} ({_tags(each.tags)})" for each in _ordered(near))
        if not wanted.tags:
            return f"templateSelector names no tags, and no template is without any; with tags: {names}"
        return f"no template has the tags {_tags(wanted.tags)} and no others; with others: {names}"
    known = ", ".join(f"{each.vmid} ({_tags(each.tags)})" for each in _ordered(templates)) or "none"
    return f"no template has the tags {_tags(wanted.tags)}; there are: {known}"


def _alike(copies: Iterable[Template]) -> str:
    ordered = _ordered(copies)
    ids = " and ".join(str(each.vmid) for each in ordered)
    return f"templates {ids} on {ordered[0].host} have the same tags, so these do not tell which is meant"


def _readable(copy: Template) -> Template | str:
    return copy if copy.readable else _unreadable(copy)


def _unreadable(copy: Template) -> str:
    return f"the configuration of template {copy.vmid} on {copy.host} could not be read"


def _ordered(templates: Iterable[Template]) -> list[Template]:
    return sorted(templates, key=lambda each: (each.vmid, each.host))


def _tags(tags: Iterable[str]) -> str:
    return ";".join(sorted(tags)) or "none"
