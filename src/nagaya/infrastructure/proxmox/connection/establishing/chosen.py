"""What a connection is to work with: what was asked for, checked against what is there, and the rest chosen.

Rights are given for what is named here and nothing else, so a choice is made even where nothing was asked: the storage
for CDs above all, as whoever may remove a CD from a storage may remove anything from it. Every choice is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from nagaya.infrastructure.proxmox.client.rows import StorageRow
from nagaya.infrastructure.proxmox.connection.establishing.site import Site
from nagaya.infrastructure.proxmox.image.choice import FILES
from nagaya.infrastructure.proxmox.privileges.operations import Feature
from nagaya.infrastructure.proxmox.privileges.place import LOCAL_ZONE, Scope
from nagaya.infrastructure.proxmox.privileges.setup import USUAL


class Unsuitable(Exception):
    """What was asked for is not there. The text is a sentence with what there is."""


class Unseen(Unsuitable):
    """Nothing can be seen, as it is for somebody without rights."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the connection works with."""

    scope: Scope
    features: tuple[Feature, ...] = USUAL
    storage: str = ""
    """What machines get that say nothing themselves; empty if they have to say it."""
    bridge: str = ""
    notes: tuple[str, ...] = ()
    """What was chosen for want of a word, in sentences."""


def chosen(asked: Scope, site: Site, features: tuple[Feature, ...] = USUAL) -> Chosen:
    """Settle it. Raises Unsuitable."""
    _known("host", asked.hosts, site.snapshot.hosts)
    notes: list[str] = []
    storages, storage = _storages(asked, site, notes)
    iso_storage, features = _iso_storage(asked, site, features, notes)
    imports = _import_storages(asked, site, notes) if Feature.IMAGES in features else ()
    bridges, bridge = _bridges(asked, site, notes)
    scope = replace(
        asked,
        storages=storages,
        iso_storage=iso_storage,
        import_storages=imports,
        bridges=bridges,
        templates=_templates(asked, site, notes),
    )
    return Chosen(scope, features, storage, bridge, tuple(notes))


def _storages(asked: Scope, site: Site, notes: list[str]) -> tuple[tuple[str, ...], str]:
    found = site.storages("images")
    _known("storage for disks (content images)", asked.storages, found)
    if asked.storages:
        return asked.storages, asked.storages[0]
    if not site.snapshot.storages:
        raise Unseen(
            "No storage can be seen at all: whoever asks has no right to see one (Datastore.Audit). Have `nagaya "
            "proxmox connect URL --print-commands` print what gives a token its rights, and run that as root on any "
            "host; or leave out --token, and a token is made that has them."
        )
    if not found:
        raise Unsuitable(
            "No storage that may hold disks (content images) can be seen: add `images` to the content of one "
            "(`pvesm set <storage> --content images,...`), or make one."
        )
    names = tuple(found)
    if len(names) > 1:
        notes.append(f"Storages for disks: all that there are, {', '.join(names)}. --storage narrows that.")
        return names, ""
    notes.append(f"Storage for disks: {names[0]}, the only one.")
    return names, names[0]


def _iso_storage(
    asked: Scope, site: Site, features: tuple[Feature, ...], notes: list[str]
) -> tuple[str, tuple[Feature, ...]]:
    if Feature.ISO not in features:
        return "", features
    found = site.storages("iso")
    if asked.iso_storage:
        _known("storage for CDs (content iso)", (asked.iso_storage,), found)
        return asked.iso_storage, features
    if not found:
        notes.append("No storage holds CDs (content iso): boot data goes by the cloud-init drive and the guest agent.")
        return "", tuple(dict.fromkeys(Feature.NATIVE if each is Feature.ISO else each for each in features))
    name = min(found, key=lambda each: _preference(each, found[each]))
    why = "the only one" if len(found) == 1 else f"of {', '.join(found)}. --iso-storage names another"
    notes.append(f"Storage for CDs with boot data: {name}, {why}.")
    return name, features


def _import_storages(asked: Scope, site: Site, notes: list[str]) -> tuple[str, ...]:
    found = site.storages("import")
    _known("storage for images (content import)", asked.import_storages, found)
    if asked.import_storages:
        return asked.import_storages
    if not found:
        raise Unsuitable(
            f"No storage takes images (content import): {_import_remedy(site)}, or leave out --with-images."
        )
    name = min(found, key=lambda each: _preference(each, found[each]))
    notes.append(f"Storage for images: {name}. --import-storage names another.")
    return (name,)


def _import_remedy(site: Site) -> str:
    """What lets a storage take images, with the name of one that could."""
    able: dict[str, list[StorageRow]] = {}
    for (_, name), row in sorted(site.snapshot.storages.items()):
        if row.type in FILES:
            able.setdefault(name, []).append(row)
    if not able:
        return (
            f"make one that keeps files ({', '.join(sorted(FILES))}), as with `pvesm add dir images --path "
            "/var/lib/nagaya-images --content import` on any host"
        )
    name = min(able, key=lambda each: _preference(each, able[each]))
    contents = ",".join(sorted({*able[name][0].contents, "import"}))
    return f"run `pvesm set {name} --content {contents}` on any host"


def _preference(name: str, rows: Sequence[StorageRow]) -> tuple[int, int, str]:
    """One that most hosts have, shared before local, so that machines can move."""
    return (-len(rows), 0 if all(row.shared for row in rows) else 1, name)


def _bridges(asked: Scope, site: Site, notes: list[str]) -> tuple[tuple[str, ...], str]:
    there = {f"{zone}/{name}": name for name, zone in site.networks.items()}
    if asked.bridges:
        found = []
        for each in asked.bridges:
            path = each if "/" in each else f"{site.networks.get(each, '')}/{each}"
            if path not in there:
                raise Unsuitable(f"There is no bridge or virtual network {each}. There are: {_listed(there)}.")
            found.append(path)
        return tuple(found), there[found[0]]
    if asked.zones:
        _known("zone with a network", asked.zones, set(site.networks.values()))
        return (), ""
    if len(there) == 1:
        ((path, name),) = there.items()
        notes.append(f"Network: {name}, the only one.")
        return (path,), name
    notes.append(
        f"Networks: all bridges of hosts (zone {LOCAL_ZONE}). --bridge and --zone narrow that; virtual networks have "
        "to be named."
    )
    return (), ""


def _templates(asked: Scope, site: Site, notes: list[str]) -> tuple[int, ...]:
    known = {each.vmid: each for each in site.templates}
    if asked.templates:
        _known("template", map(str, asked.templates), map(str, known))
        return asked.templates
    if asked.template_pool:
        return ()
    outside = tuple(vmid for vmid, each in known.items() if each.pool != asked.pool)
    if outside:
        named = ", ".join(f"{vmid} ({known[vmid].name or 'no name'})" for vmid in outside)
        notes.append(f"Templates: all that there are, {named}. --template and --template-pool narrow that.")
    elif not known:
        notes.append(f"Templates: none yet. Those that come into the pool {asked.pool or '(none)'} can be cloned.")
    return outside


def _known(what: str, named: Iterable[str], known: Iterable[str]) -> None:
    there = [*known]
    for each in named:
        if each not in there:
            raise Unsuitable(f"There is no {what} {each}. There are: {_listed(there)}.")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
