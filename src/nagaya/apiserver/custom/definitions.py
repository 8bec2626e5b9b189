"""The life of CustomResourceDefinitions: names accepted, established, served, and in the end emptied and removed.

A definition is served exactly while its `Established` condition is True. Names are accepted first come, first served
within a group. A definition that is deleted stops taking new objects at once and goes when the last of its objects has
gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from nagaya.apiserver.custom.conversion import WebhookCaller
from nagaya.apiserver.custom.given_versions import completed
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.gvk import GroupResource
from nagaya.apiserver.meta.status import JsonObject, aggregate
from nagaya.apiserver.registry.backend import Backend
from nagaya.apiserver.registry.internal import Internal
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.storage import Event, Record

DEFINITIONS: Final = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
TABLE: Final = "apiextensions.k8s.io/customresourcedefinitions"
FINALIZER: Final = "customresourcecleanup.apiextensions.k8s.io"
_CLOSED: Final = "create not allowed while custom resource definition is terminating"


class _Held(NamedTuple):
    """The names of a definition, as it was at a revision."""

    revision: int
    group: str
    names: JsonObject


class Definitions:
    """Keeps the catalog and the conditions of all definitions right."""

    name = "custom resource definitions"
    tables = None

    def __init__(self, backend: Backend, caller: WebhookCaller) -> None:
        self._backend = backend
        self._api = Internal(backend, "kube-apiserver")
        self._caller = caller
        self._served: dict[str, list[Resource]] = {}
        self._asked: dict[str, object] = {}  # what a definition asked for when it was served
        self._tables: dict[str, str] = {}  # of definitions being deleted: table to name
        self._held: dict[str, _Held] = {}

    def start(self) -> Iterator[str]:
        """Serve what was served before, at once: clients may ask for it in the same moment."""
        for record in self._backend.store.list(TABLE).records:
            definition = record.object()
            self._serve(record.key, definition)
            if not _is_settled(definition):
                yield record.key

    def on_event(self, event: Event) -> Iterator[str]:
        """A definition changed, or an object of one that is being deleted went."""
        if event.table == TABLE:
            self._serve(event.key, event.record.object() if event.record else None)
            yield event.key
            if event.record is None:
                # Its names are free now; others may have been waiting for them.
                for record in self._backend.store.list(TABLE).records:
                    yield record.key
        elif event.record is None and event.table in self._tables:
            yield self._tables[event.table]

    def _serve(self, name: str, definition: JsonObject | None) -> None:
        """Bring the catalog into the state that a definition asks for.

        Compiling schemas and rules is dear, and most writes to a definition change neither: those are passed over.
        """
        asked = None if definition is None else _asked(definition)
        if asked is not None and self._asked.get(name) == asked:
            return
        before = self._served.pop(name, [])
        self._asked.pop(name, None)
        after: list[Resource] = []
        if definition is not None and asked is not None:
            self._asked[name] = asked
            after = self._resources(definition)
            if condition(definition, "Terminating") == "True":
                for each in after:
                    each.closed = _CLOSED
            self._served[name] = after
        if before or after:
            self._backend.catalog.replace(before, after)

    def _resources(self, definition: JsonObject) -> list[Resource]:
        # Many servers never see a definition, and the rule language is big.
        from nagaya.apiserver.cel.crd_rules import compile_rules
        from nagaya.apiserver.custom import serve

        world = self._backend.world
        definition, given = completed(definition, self._backend.versions)
        converter = given or serve.converter_of(definition, self._caller, world)
        return serve.resources(definition, compile_rules, converter, world)

    async def sync(self, key: object) -> float | None:
        """Bring one definition a step on."""
        assert isinstance(key, str)
        definition = self._api.get(DEFINITIONS, "", key)
        if definition is None:
            self._tables = {table: name for table, name in self._tables.items() if name != key}
            self._held.pop(key, None)
            return None
        if definition["metadata"].get("deletionTimestamp"):
            if FINALIZER in (definition["metadata"].get("finalizers") or ()):
                await self._empty(key, definition)
            return None
        await self._api.change(DEFINITIONS, "", key, self._accept, subresource="status")
        return None

    def _accept(self, definition: JsonObject) -> JsonObject:
        """Names and conditions as they should be; the time of a condition changes only with its status."""
        status = definition.setdefault("status", {})
        names, problem = self._names(definition)
        status["acceptedNames"] = names
        now = self._backend.now()
        reason, message = problem or ("NoConflicts", "no conflicts found")
        set_condition(definition, "NamesAccepted", "False" if problem else "True", reason, message, now)
        if not problem:
            text = "the initial names have been accepted"
            set_condition(definition, "Established", "True", "InitialNamesAccepted", text, now)
        elif condition(definition, "Established") is None:
            set_condition(definition, "Established", "False", "NotAccepted", "not all names are accepted", now)
        return definition

    def _names(self, definition: JsonObject) -> tuple[JsonObject, tuple[str, str] | None]:
        """The names that are the definition's now, and the last conflict, if any."""
        wanted = definition["spec"]["names"]
        held: JsonObject = (definition.get("status") or {}).get("acceptedNames") or {}
        resources, kinds = self._taken(definition)
        names: JsonObject = {key: held.get(key) for key in ("plural", "singular", "shortNames", "kind", "listKind")}
        problem: tuple[str, str] | None = None
        for member, taken, reason in (
            ("plural", resources, "PluralConflict"),
            ("singular", resources, "SingularConflict"),
            ("shortNames", resources, "ShortNamesConflict"),
            ("kind", kinds, "KindConflict"),
            ("listKind", kinds, "ListKindConflict"),
        ):
            given = wanted.get(member)
            each_of = given if isinstance(given, list) else [given or ""]
            mine = held.get(member)
            kept = set(mine if isinstance(mine, list) else [mine or ""])
            conflicts = [each for each in each_of if each and each not in kept and each in taken]
            if conflicts:
                texts = [f"{gostring.quote(each)} is already in use" for each in conflicts]
                problem = reason, aggregate(texts)
            else:
                names[member] = given
        names["categories"] = wanted.get("categories")
        # The kind is always there, the rest only if it says something.
        return {key: value for key, value in names.items() if value or key in ("plural", "kind")}, problem

    def _taken(self, definition: JsonObject) -> tuple[set[str], set[str]]:
        """The names that other definitions of the group hold."""
        resources: set[str] = set()
        kinds: set[str] = set()
        for record in self._backend.store.list(TABLE).records:
            other = self._names_of(record)
            if record.key == definition["metadata"]["name"] or other.group != definition["spec"]["group"]:
                continue
            held = other.names
            resources.update([held.get("plural") or "", held.get("singular") or "", *(held.get("shortNames") or ())])
            kinds.update([held.get("kind") or "", held.get("listKind") or ""])
        return resources, kinds

    def _names_of(self, record: Record) -> _Held:
        """What a definition holds. Each is read once: there are many, they are large, and all others ask."""
        known = self._held.get(record.key)
        if known is None or known.revision != record.revision:
            found = record.object()
            names = (found.get("status") or {}).get("acceptedNames") or {}
            known = self._held[record.key] = _Held(record.revision, found["spec"]["group"], names)
        return known

    async def _empty(self, name: str, definition: JsonObject) -> None:
        """Delete the objects of a definition that is being deleted; once there are none, let it go."""
        served = self._served.get(name)
        if served:
            resource = served[0]
            self._tables[resource.table] = name
            text = "CustomResource deletion is in progress"
            await self._tell(name, "True", "InstanceDeletionInProgress", text)
            for record in self._backend.store.list(resource.table).records:
                metadata = record.object()["metadata"]
                if not metadata.get("deletionTimestamp"):
                    namespace = metadata.get("namespace") or ""
                    await self._api.delete(resource.group_resource, namespace, metadata["name"], uid=metadata["uid"])
            if self._backend.store.count(resource.table):
                return
            await self._tell(name, "False", "InstanceDeletionCompleted", "removed all instances")
        else:
            await self._tell(name, "False", "NeverEstablished", "resource was never established")

        def release(obj: JsonObject) -> JsonObject:
            left = [each for each in obj["metadata"].get("finalizers") or () if each != FINALIZER]
            obj["metadata"]["finalizers"] = left
            return obj

        await self._api.change(DEFINITIONS, "", name, release)

    async def _tell(self, name: str, state: str, reason: str, message: str) -> None:
        def change(obj: JsonObject) -> JsonObject:
            set_condition(obj, "Terminating", state, reason, message, self._backend.now())
            return obj

        await self._api.change(DEFINITIONS, "", name, change, subresource="status")


def _asked(definition: JsonObject) -> object | None:
    """All that decides how a definition is served; None if it is not."""
    if condition(definition, "Established") != "True":
        return None
    terminating = condition(definition, "Terminating") == "True"
    metadata = definition["metadata"]
    return metadata["uid"], metadata["generation"], definition["status"]["acceptedNames"], terminating


def _is_settled(definition: JsonObject) -> bool:
    """Whether it has all the names that it wants and stays: then nothing is to be done for it."""
    if definition["metadata"].get("deletionTimestamp"):
        return False
    wanted, held = definition["spec"]["names"], (definition.get("status") or {}).get("acceptedNames") or {}
    accepted = all((wanted.get(member) or None) == (held.get(member) or None) for member in (*wanted, *held))
    return accepted and all(condition(definition, kind) == "True" for kind in ("NamesAccepted", "Established"))


def condition(definition: JsonObject, kind: str) -> str | None:
    """The status of a condition; None if it is not there."""
    for each in (definition.get("status") or {}).get("conditions") or ():
        if each["type"] == kind:
            found: str = each["status"]
            return found
    return None


def set_condition(definition: JsonObject, kind: str, state: str, reason: str, message: str, now: str) -> None:
    """Write a condition, in place."""
    status = definition.setdefault("status", {})
    conditions = status["conditions"] = list(status.get("conditions") or ())
    new = {"type": kind, "status": state, "lastTransitionTime": now, "reason": reason, "message": message}
    for index, old in enumerate(conditions):
        if old["type"] == kind:
            if old["status"] == state:
                new["lastTransitionTime"] = old.get("lastTransitionTime") or now
            conditions[index] = new
            return
    conditions.append(new)
