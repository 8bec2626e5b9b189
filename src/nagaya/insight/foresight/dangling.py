"""Names that lead nowhere: objects that the manifests refer to, and that are neither there nor among the manifests.

The server takes such an object, as what it names may come later. A person who has misspelt a name waits for ever then,
so it is told before the apply. What may not be read is not said to be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.insight.foresight.change import Verb
from nagaya.insight.foresight.doubts import Doubt, Severity
from nagaya.insight.foresight.rehearsal import Rehearsed
from nagaya.insight.picture.kinds import GROUP, Kinds
from nagaya.insight.picture.search import ALIKE
from nagaya.kube.client import Client
from nagaya.kube.errors import Forbidden, NotFound

_SECRETS: Final = Kind("", "v1", "Secret", "secrets", Untyped)
_SECRET: Final = ("", "Secret")
_CONNECTION: Final = (f"infrastructure.{GROUP}", "ProxmoxConnection")
_DATA_STORE: Final = (f"controlplane.{GROUP}", "DataStore")
_BY_FIELD: Final[Mapping[str, tuple[str, str]]] = {
    "connectionRef": _CONNECTION,
    "dataStoreRef": _DATA_STORE,
    "credentialsRef": _SECRET,
    "secret": _SECRET,
    "secretKeyRef": _SECRET,
}
"""References that say a name alone, by their field: what they mean."""
_MADE_WHEN_NEEDED: Final = (*_DATA_STORE, "default")


@dataclass(frozen=True, slots=True)
class Named:
    """An object that is named: by which group, kind and name, and in which namespace."""

    group: str
    kind: str
    namespace: str
    name: str


def names(obj: Untyped) -> Iterator[tuple[str, Named]]:
    """What an object of Cluster API names in its specification, each with the path of the reference."""
    group = obj.api_version.rpartition("/")[0]
    if group != GROUP and not group.endswith(f".{GROUP}"):
        return
    cluster = obj.at("spec", "clusterName")
    if isinstance(cluster, str) and cluster:
        yield ".spec.clusterName", Named(GROUP, "Cluster", obj.metadata.namespace, cluster)
    yield from _names(obj.raw.get("spec"), ".spec", "", obj.metadata.namespace)


def _names(value: Any, path: str, field: str, namespace: str) -> Iterator[tuple[str, Named]]:
    if isinstance(value, list):
        for number, each in enumerate(value):
            yield from _names(each, f"{path}[{number}]", field, namespace)
        return
    if not isinstance(value, Mapping):
        return
    name = value.get("name")
    if isinstance(name, str) and name and (meant := _meant(value, field)) is not None:
        where = value.get("namespace")
        yield path, Named(*meant, where if isinstance(where, str) and where else namespace, name)
        return
    for inner, each in value.items():
        yield from _names(each, f"{path}.{inner}", str(inner), namespace)


def _meant(value: Mapping[str, Any], field: str) -> tuple[str, str] | None:
    kind, version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or not kind:
        return _BY_FIELD.get(field)
    group = value.get("apiGroup")
    if not group and isinstance(version, str):
        group = version.rpartition("/")[0]
    return (group, kind) if isinstance(group, str) and group else None


async def dangling(client: Client, kinds: Kinds, rehearsed: Sequence[Rehearsed]) -> list[Doubt]:
    """What the objects that are made or changed name, and is not there. Raises what the client does."""
    coming = {
        (each.change.kind, each.change.namespace, each.change.name): each.change.verb is Verb.REFUSE
        for each in rehearsed
    }
    asked: dict[Named, list[tuple[str, str]]] = {}
    for each in rehearsed:
        if each.after is None or each.change.verb not in (Verb.CREATE, Verb.CHANGE):
            continue
        for path, named in names(each.after):
            asked.setdefault(named, []).append((each.change.title, path))
    found = []
    for named, by in asked.items():
        if (named.group, named.kind, named.name) == _MADE_WHEN_NEEDED:
            continue
        kind = _kind(kinds, named)
        if kind is None:
            found.append(_unserved(named, by))
            continue
        namespace = named.namespace if kind.namespaced else ""
        if (named.kind, namespace, named.name) not in coming and not await _exists(client, kind, namespace, named.name):
            there = await _names_there(client, kind, namespace)
            there |= {name for what, where, name in coming if (what, where) == (named.kind, namespace)}
            found.append(_missing(named, namespace, by, there))
    return found


def _kind(kinds: Kinds, named: Named) -> Kind[Untyped] | None:
    if (named.group, named.kind) == _SECRET:
        return _SECRETS
    found = kinds.get(named.group, named.kind)
    return None if found is None else found.kind


async def _exists(client: Client, kind: Kind[Untyped], namespace: str, name: str) -> bool:
    try:
        await client.get(kind, namespace, name)
    except NotFound:
        return False
    except Forbidden:
        return True  # nobody knows, so nothing is said
    return True


async def _names_there(client: Client, kind: Kind[Untyped], namespace: str) -> set[str]:
    if kind == _SECRETS:
        return set()  # they are read one by one, never all
    try:
        return {each.metadata.name for each in (await client.list(kind, namespace)).items}
    except Forbidden:
        return set()


def _missing(named: Named, namespace: str, by: Sequence[tuple[str, str]], there: set[str]) -> Doubt:
    near = get_close_matches(named.name, sorted(there), n=1, cutoff=ALIKE)
    what = f"{_who(named, by)}, which is neither there nor in the manifests."
    if near:
        remedy = f"Did you mean {near[0]}? If not, make {named.kind} {named.name}, too."
    elif (named.group, named.kind) == _CONNECTION:
        remedy = f"Make it: nagaya proxmox connect URL -n {namespace} --name {named.name}"
    else:
        where = f" in namespace {namespace}" if namespace else ""
        remedy = f"Make it{where}, too, or correct the name."
    # A Secret often comes from somewhere else, later; what is wrong with it is told by who needs it.
    severity = Severity.WARNING if named.kind == "Secret" else Severity.ERROR
    return Doubt(severity, what, remedy)


def _unserved(named: Named, by: Sequence[tuple[str, str]]) -> Doubt:
    what = f"{_who(named, by)}, and nobody serves the kind {named.kind} of {named.group}."
    return Doubt(Severity.ERROR, what, "Correct kind and apiGroup, or install the provider that brings the kind.")


def _who(named: Named, by: Sequence[tuple[str, str]]) -> str:
    title, path = by[0]
    more = f" (and {len(by) - 1} more)" if len(by) > 1 else ""
    return f"{title}{more} names {named.kind} {named.name} in {path}"
