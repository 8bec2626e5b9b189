"""One version of a definition, compiled: everything that has to be done to its objects.

A request's body goes through `decode` (what is unknown is dropped, metadata made canonical, defaults filled in), an
object read from storage through `refresh`, and before it is written it is checked by `validator`. An instance belongs
to one state of a definition; when the definition changes, another one is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from nagaya.apiserver.crd import defaults, embedded, metadata, prune
from nagaya.apiserver.crd.rules import RuleCompiler
from nagaya.apiserver.crd.scale import ScalePaths
from nagaya.apiserver.crd.schema import read
from nagaya.apiserver.crd.selectable import SelectableFields
from nagaya.apiserver.crd.validate import Validator
from nagaya.apiserver.meta.field_errors import Path
from nagaya.apiserver.meta.status import JsonObject, bad_request, object_too_large

_ROOT: Final = Path()


class CustomResource:
    """What a version of a definition makes of its objects."""

    def __init__(self, kind: str, version: JsonObject, compile_rules: RuleCompiler | None = None) -> None:
        self.kind = kind
        self.version: str = version["name"]
        self.raw_schema: JsonObject = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        self.schema = read(self.raw_schema)
        subresources = version.get("subresources") or {}
        self.has_status = subresources.get("status") is not None
        scale = subresources.get("scale")
        self.scale = ScalePaths.of(scale) if scale is not None else None
        self.selectable = SelectableFields(version.get("selectableFields") or [])
        self.validator = Validator(self.schema, compile_rules, self.scale)
        self._clean = prune.compile_schema(self.schema, resource_root=True)
        self._coerce = embedded.compile_coercion(self.schema)
        self._fill = defaults.compile_schema(self.schema)

    def decode(self, body: JsonObject, *, report: bool = True) -> tuple[JsonObject, list[str]]:
        """The object that a request's body stands for and, if asked for, what is unknown in it: `unknown field "a.b"`.

        The body is not changed; kind and apiVersion have been checked. Raises ApiError if metadata is malformed.
        """
        with self._refusing():
            obj, unknown = self._read(body, report=report, drop_malformed=False)
        return self._defaulted(obj), [f'unknown field "{path}"' for path in unknown]

    def complete(self, applied: JsonObject) -> JsonObject:
        """The object that server-side apply has made, with what its schema fills in.

        It is not pruned, so a null stays and has to be valid: what an applier takes the last field of becomes null.
        """
        with self._refusing():
            obj, _ = self._read(applied, report=False, drop_malformed=False, cleaned=True)
        return self._defaulted(obj)

    def _defaulted(self, obj: JsonObject) -> JsonObject:
        try:
            return self.default(obj)
        except defaults.TooManyDefaults:
            raise object_too_large(0) from None

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except (metadata.MalformedMetadataError, embedded.MalformedResourceError) as error:
            about = f'{self.kind} in version "{self.version}" cannot be handled as a {self.kind}'
            raise bad_request(f"{about}: {error}") from error

    def refresh(self, stored: JsonObject) -> JsonObject:
        """A stored object as the definition now has it: pruned, defaulted, malformed metadata dropped.

        One that its definition would now fill beyond all bounds stays without, so that it can be read and repaired.
        """
        obj = self._read(stored, report=False, drop_malformed=True)[0]
        try:
            return self.default(obj)
        except defaults.TooManyDefaults:
            return obj

    def default(self, obj: JsonObject) -> JsonObject:
        """The object with what its schema fills in. The argument is not changed."""
        filled: JsonObject = obj if self._fill is None else self._fill(obj)
        return filled

    def _read(
        self, body: JsonObject, *, report: bool, drop_malformed: bool, cleaned: bool = False
    ) -> tuple[JsonObject, list[str]]:
        unknown: list[str] = []
        meta: Any = None
        if "metadata" in body:
            meta, strange = metadata.read(body["metadata"], drop_malformed=drop_malformed)
            unknown += [f"metadata.{path}" for path in strange]
        obj: JsonObject = body if cleaned else self._clean(body)
        if report and obj is not body:
            unknown += prune.unknown_fields(body, self.schema, resource_root=True)
        if self._coerce is not None:
            reading = embedded.Reading(drop_malformed=drop_malformed)
            obj = self._coerce(obj, _ROOT, reading)
            unknown += sorted(reading.unknown)
        if meta is not None and obj.get("metadata") is not meta:
            obj = {**obj, "metadata": meta}
        return obj, unknown if report else []
