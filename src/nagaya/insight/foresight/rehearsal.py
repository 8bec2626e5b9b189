"""Asking the server what an apply would come to: server-side apply as a dry run, object by object. Nothing is written.

It is what `kubectl apply --server-side` would do: the same field manager, so what kubectl applied before and is not in
the manifest any more goes. Fields that others manage are taken over for the rehearsal, and that is said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.api.untyped import Untyped
from nagaya.insight.foresight.change import Change, Verb, differences
from nagaya.insight.foresight.misspelt import meant
from nagaya.insight.foresight.unserved import remedy
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, Conflict, Forbidden, NotFound
from nagaya.kube.patches import KUBECTL, Apply
from nagaya.kube.served_kinds import ServedKinds

_FORCE: Final = "`kubectl apply` takes them over; with --server-side only if --force-conflicts is given"
_PREFIX: Final = re.compile(r"^failed to create typed patch object \([^)]*\): ")
"""What servers put before the field that does not fit."""
_NONE: Final = "<nil>"
"""The field of the note that not all rules were checked: nobody can do anything about it."""
_GO_SINGLE: Final = re.compile(r"(?<=expected list, got )&\{([^}]*)\}")
_GO_VALUE: Final = re.compile(r"&value\.valueUnstructured\{Value:([^}]*)\}")
"""How servers print a value that is no text."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object as a file has it."""

    content: Mapping[str, Any]
    source: str
    number: int = 1
    """Which object of the file it is."""

    @property
    def place(self) -> str:
        """Where it is."""
        return f"{self.source} (object {self.number})"

    @property
    def api_version(self) -> str:
        """Group and version."""
        return str(self.content.get("apiVersion", ""))

    @property
    def kind(self) -> str:
        """The name of its kind."""
        return str(self.content.get("kind", ""))

    @property
    def name(self) -> str:
        """Its name; empty if it has none."""
        metadata = self.content.get("metadata")
        return str(metadata.get("name") or "") if isinstance(metadata, Mapping) else ""

    @property
    def namespace(self) -> str:
        """The namespace that it names."""
        metadata = self.content.get("metadata")
        return str(metadata.get("namespace") or "") if isinstance(metadata, Mapping) else ""


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """What became of a manifest."""

    change: Change
    before: Untyped | None = None
    after: Untyped | None = None
    """As the object would be; None if it is refused."""


class Rehearsal:
    """The dry runs of one plan."""

    def __init__(self, client: Client, manifests: Sequence[Manifest], namespace: str) -> None:
        """`namespace` is that of objects that name none."""
        self._client = client
        self._kinds = ServedKinds(client)
        self._namespace = namespace
        self._manifests = manifests
        self._coming = {each.name for each in manifests if each.kind == "Namespace"}
        self._defined = frozenset(_defined(manifests))

    async def all(self) -> list[Rehearsed]:
        """All of them, in their order. Raises Unauthorized and NoAnswer."""
        return [await self._one(each) for each in self._manifests]

    async def _one(self, manifest: Manifest) -> Rehearsed:
        if not manifest.api_version:
            why = "apiVersion is missing. Say what the object is, such as apiVersion: cluster.x-k8s.io/v1beta2."
            return _refused(manifest, manifest.namespace, why)
        try:
            kind = await self._kinds.of(manifest.api_version, manifest.kind)
        except LookupError as error:
            return await self._unserved(manifest, str(error))
        namespace = (manifest.namespace or self._namespace) if kind.namespaced else ""
        if not manifest.name:
            why = "metadata.name is missing. Give the object a name: what is applied must have one."
            return _refused(manifest, namespace, why)
        try:
            before: Untyped | None = await self._client.get(kind, namespace, manifest.name)
        except NotFound:
            before = None
        except Forbidden as error:
            return _refused(manifest, namespace, f"You may not read it: {error.message}.")
        return await self._apply(manifest, kind, namespace, before)

    async def _apply(
        self, manifest: Manifest, kind: Kind[Untyped], namespace: str, before: Untyped | None
    ) -> Rehearsed:
        note = ""
        try:
            after = await self._dry_run(manifest, kind, namespace, force=False)
        except Conflict as error:
            if not error.has_cause("FieldManagerConflict"):
                return _refused(manifest, namespace, _explained(error))
            note = f"Others manage {_fields(error)}: {_FORCE}"
            try:
                after = await self._dry_run(manifest, kind, namespace, force=True)
            except ApiError as refused:
                return _refused(manifest, namespace, _explained(refused))
        except NotFound as error:
            if namespace in self._coming:
                note = f"namespace {namespace} is made by the same manifests, so this could not be rehearsed"
                return _as_written(manifest, kind, namespace, note)
            if error.details.get("kind") == "namespaces":
                why = f"Namespace {namespace} does not exist. Create it: `kubectl create namespace {namespace}`."
                return _refused(manifest, namespace, why)
            return _refused(manifest, namespace, _explained(error))
        except ApiError as error:
            why = _explained(error)
            return _refused(manifest, namespace, f"{why}{await meant(self._client, kind, why)}")
        if before is None:
            return Rehearsed(_change(Verb.CREATE, manifest, namespace, note=note), None, after)
        fields = differences(before, after)
        verb = Verb.CHANGE if fields else Verb.KEEP
        return Rehearsed(_change(verb, manifest, namespace, fields=fields, note=note), before, after)

    async def _dry_run(self, manifest: Manifest, kind: Kind[Untyped], namespace: str, *, force: bool) -> Untyped:
        patch = Apply(manifest.content, KUBECTL, force=force)
        return await self._client.patch(kind, namespace, manifest.name, patch, dry_run=True)

    async def _unserved(self, manifest: Manifest, why: str) -> Rehearsed:
        namespace = manifest.namespace
        if (manifest.api_version.rpartition("/")[0], manifest.kind) in self._defined:
            note = "its definition is in the same manifests, so this could not be rehearsed"
            return Rehearsed(_change(Verb.CREATE, manifest, namespace, note=note))
        help = await remedy(self._client, manifest.api_version, manifest.kind, manifest.source)
        return _refused(manifest, namespace, f"{why[:1].upper()}{why[1:]}. {help}")


def _defined(manifests: Iterable[Manifest]) -> Iterable[tuple[str, str]]:
    for each in manifests:
        spec = each.content.get("spec")
        if each.kind == "CustomResourceDefinition" and isinstance(spec, Mapping):
            names = spec.get("names")
            yield str(spec.get("group")), str(names.get("kind")) if isinstance(names, Mapping) else ""


def _as_written(manifest: Manifest, kind: Kind[Untyped], namespace: str, note: str) -> Rehearsed:
    metadata = {**manifest.content.get("metadata", {}), "namespace": namespace, "uid": f"new-{manifest.name}"}
    after = kind.convert({**manifest.content, "metadata": metadata})
    return Rehearsed(_change(Verb.CREATE, manifest, namespace, note=note), None, after)


def _refused(manifest: Manifest, namespace: str, why: str) -> Rehearsed:
    return Rehearsed(_change(Verb.REFUSE, manifest, namespace, refusal=why))


def _change(verb: Verb, manifest: Manifest, namespace: str, **more: Any) -> Change:
    return Change(verb, manifest.kind, namespace, manifest.name or "(no name)", manifest.source, **more)


def _explained(error: ApiError) -> str:
    """Each field that the server complains of, or all that it says."""
    causes = [each for each in error.causes if isinstance(each, Mapping) and each.get("field") not in (None, "", _NONE)]
    if causes and error.code == 422:
        return "; ".join(f"{each['field']}: {each.get('message', '')}".rstrip(".") for each in causes) + "."
    if isinstance(error, Forbidden):
        return f"{error.message.rstrip('.')}. If it is a right that is missing, ask for it; else correct what is named."
    said = _PREFIX.sub("", error.message or str(error)).rstrip(".")
    number = _GO_VALUE.search(said)
    if number is not None and "expected string" in said:
        return f"{_GO_VALUE.sub(number[1], said)}. Put it in quotes: '{number[1]}'."
    if "expected numeric" in said:
        return f"{said}. Write a number, without quotes."
    single = _GO_SINGLE.search(said)
    if single is not None:
        return f"{_GO_SINGLE.sub(single[1], said)}. Write it as a list: [{single[1]}]."
    return f"{said}."


def _fields(error: ApiError) -> str:
    found = [str(each.get("field", "")) for each in error.causes if isinstance(each, Mapping)]
    return ", ".join(dict.fromkeys(filter(None, found)))
