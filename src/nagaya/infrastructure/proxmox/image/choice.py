"""Which storages and hosts an image goes to. Pure; what cannot be chosen is a sentence with the command that helps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from nagaya.infrastructure.proxmox.image.seen import Seen, SeenStorage
from nagaya.infrastructure.proxmox.image.wanted import Wanted

IMAGES: Final = "images"
IMPORT: Final = "import"
OLDEST: Final = (8, 2)
FILES: Final = frozenset({"dir", "nfs", "cifs", "cephfs", "btrfs"})
"""Types of storage that can take files, so that they could take images too."""


class NoChoice(Exception):
    """Nothing can be done as asked. The message is a sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Where an image goes."""

    storage: str
    shared: bool
    """Whether one template serves all hosts."""
    hosts: tuple[str, ...]
    """Those that are to have it, or one of which is."""
    imports: Mapping[str, SeenStorage] = field(default_factory=dict)
    """By host: where its download goes."""
    without: Mapping[str, str] = field(default_factory=dict)
    """Hosts that are on and cannot get it, and why."""
    enables: SeenStorage | None = None
    """The storage that has to be made to take images first."""


def choose(seen: Seen, wanted: Wanted) -> Choice:
    """Decide. Raises NoChoice."""
    if seen.release < OLDEST:
        have = ".".join(map(str, seen.release))
        raise NoChoice(f"This is Proxmox VE {have}, and images can be imported since 8.2: upgrade it first.")
    unknown = [each for each in wanted.hosts if each not in seen.hosts]
    if unknown:
        raise NoChoice(f"There is no host {', '.join(unknown)}: the hosts are {', '.join(sorted(seen.hosts))}.")
    allowed = wanted.hosts or tuple(sorted(seen.hosts))
    storage = wanted.storage or _disks(seen, allowed)
    having = {each.host: each for each in seen.storages if each.name == storage}
    if not having:
        raise NoChoice(f"No host shows a storage {storage}: there are {_named(seen.storages)}. Check --storage.")
    wrong = [each for each in having.values() if IMAGES not in each.contents]
    if wrong:
        now = ",".join(sorted(wrong[0].contents | {IMAGES}))
        raise NoChoice(
            f"Storage {storage} does not hold disks of machines: choose another with --storage, or allow it with "
            f"`pvesm set {storage} --content {now}` on any host."
        )
    hosts = tuple(each for each in allowed if each in having)
    if not hosts:
        raise NoChoice(f"Storage {storage} is not on {', '.join(allowed)}: it is on {', '.join(sorted(having))}.")
    shared = any(each.shared for each in having.values())
    without = {
        each: f"storage {storage} is not available on {each}"
        for each in hosts
        if seen.hosts[each] and not having[each].available
    }
    without |= {each: why for each, why in seen.unread.items() if each in hosts}
    return _with_imports(seen, wanted, Choice(storage, shared, hosts, without=without))


def _with_imports(seen: Seen, wanted: Wanted, chosen: Choice) -> Choice:
    """Where each host's download goes: preferably to a storage that all see, as then one download is enough."""
    on = [each for each in chosen.hosts if seen.hosts[each] and each not in chosen.without]
    imports: dict[str, SeenStorage] = {}
    without = dict(chosen.without)
    for host in on:
        fitting = [each for each in _taking(seen, host) if wanted.import_storage in ("", each.name)]
        if fitting:
            imports[host] = min(fitting, key=lambda each: (not each.shared, each.name))
    enables = None
    if on and not imports:
        enables = _enabled(seen, wanted, on)
        imports = {
            host: found for host in on if (found := seen.storage(host, enables.name)) is not None and found.available
        }
    for host in on:
        if host not in imports:
            named = f"storage {wanted.import_storage}" if wanted.import_storage else "no storage"
            verb = "does not take" if wanted.import_storage else "takes"
            without[host] = f"{named} {verb} images (content type import) on {host}"
    return Choice(chosen.storage, chosen.shared, chosen.hosts, imports, without, enables)


def _enabled(seen: Seen, wanted: Wanted, hosts: Iterable[str]) -> SeenStorage:
    """The storage that could take images if it were allowed to."""
    listed = [*hosts]
    able = [
        each
        for each in seen.storages
        if each.host in listed and each.available and each.type in FILES and wanted.import_storage in ("", each.name)
    ]
    if not able:
        raise NoChoice(_unable(seen, wanted.import_storage))
    best = min(able, key=lambda each: (not each.shared, each.name != "local", each.name))
    if wanted.enable_import:
        return best
    contents = ",".join(sorted(best.contents | {IMPORT}))
    what = f"Storage {wanted.import_storage} does not take" if wanted.import_storage else "No storage takes"
    raise NoChoice(
        f"{what} images (content type import): run `pvesm set {best.name} --content {contents}` on any host, or give "
        "--enable-import to have it done."
    )


def _unable(seen: Seen, named: str) -> str:
    """Why the storage that was named, or any, cannot take images, and what to do."""
    known = [each for each in seen.storages if each.name == named]
    if named and not known:
        return (
            f"No host shows a storage {named}: there are {_named(seen.storages)}. Check --import-storage, and that the "
            f"credentials may see it: `nagaya proxmox connect URL --with-images --import-storage {named}` sees to that."
        )
    if any(each.type in FILES for each in known):
        return f"Storage {named} is not available on any host that is on: see to that, or name another."
    what = f"Storage {named} cannot take images" if named else "No storage can take images"
    return (
        f"{what}: that needs one that keeps files ({', '.join(sorted(FILES))}). Make one with `pvesm add dir images "
        "--path /var/lib/nagaya-images --content import` on any host, or name another with --import-storage."
    )


def _taking(seen: Seen, host: str) -> list[SeenStorage]:
    return [
        each
        for each in seen.storages
        if each.host == host and each.available and IMPORT in each.contents and each.type in FILES
    ]


def _disks(seen: Seen, hosts: Iterable[str]) -> str:
    """The storage for disks, if there is but one that comes into question."""
    listed = [*hosts]
    names = sorted({each.name for each in seen.storages if each.host in listed and IMAGES in each.contents})
    if len(names) == 1:
        return names[0]
    if not names:
        raise NoChoice("No storage holds disks of machines (content type images), or none may be seen: give --storage.")
    raise NoChoice(f"Several storages hold disks of machines ({', '.join(names)}): choose one with --storage.")


def _named(storages: Iterable[SeenStorage]) -> str:
    return ", ".join(sorted({each.name for each in storages})) or "none"
