"""Which objects of a collection a client wants: its label and field selectors, ready to be applied.

Names, namespaces and labels are known without decoding an object; other fields are not. `by_object` says which of the
two it takes, so that the common case stays cheap.
"""

from __future__ import annotations

from collections.abc import Iterable

from nagaya.apiserver.meta import status
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.resource import Resource
from nagaya.apiserver.registry.strategy import NAME_FIELDS
from nagaya.apiserver.selectors.fields import FieldSelector
from nagaya.apiserver.selectors.fields import parse as parse_fields
from nagaya.apiserver.selectors.labels import LabelSelector
from nagaya.apiserver.selectors.labels import parse as parse_labels
from nagaya.apiserver.storage import Record


class Selection:
    """A parsed pair of selectors for one resource."""

    __slots__ = (
        "_decisive",
        "_fields",
        "_labels",
        "_namespaced",
        "_strategy",
        "by_object",
        "is_everything",
        "name",
        "namespace",
    )

    def __init__(self, resource: Resource, labels: LabelSelector | None, fields: FieldSelector | None) -> None:
        self._strategy = resource.strategy
        self._namespaced = resource.namespaced
        self._labels = labels
        self._fields = fields
        exact = ((each.key, each.exact) for each in labels.requirements) if labels else ()
        self._decisive = next(((key, value) for key, value in exact if value is not None), None)
        requirements = fields.requirements if fields else ()
        self.by_object = any(each.field not in NAME_FIELDS for each in requirements)
        self.is_everything = labels is None and fields is None
        self.name = fields.exact_match("metadata.name") if fields else None
        self.namespace = fields.exact_match("metadata.namespace") if fields else None

    def of(self, records: Iterable[Record]) -> list[Record]:
        """Those whose labels and names fit. One label that must have one value decides most, in a tight loop."""
        if self.is_everything:
            return list(records)
        if self._decisive is not None:
            key, value = self._decisive
            records = [record for record in records if record.labels.get(key) == value]
        return [record for record in records if self.matches_record(record)]

    def matches_record(self, record: Record) -> bool:
        """Whether labels and names fit; fields inside the object are left to `matches_object`."""
        if self._labels is not None and not self._labels.matches(record.labels or {}):
            return False
        if self._fields is None or self.by_object:
            return True
        return self._fields.matches(self._names(record.key))

    def _names(self, key: str) -> dict[str, str]:
        namespace, _, name = key.rpartition("/")
        return {"metadata.name": name, "metadata.namespace": namespace if self._namespaced else ""}

    def matches_object(self, obj: JsonObject) -> bool:
        """Whether the fields fit."""
        if self._fields is None:
            return True
        metadata = obj["metadata"]
        values = {
            "metadata.name": metadata.get("name") or "",
            "metadata.namespace": metadata.get("namespace") or "",
            **self._strategy.select(obj),
        }
        return self._fields.matches(values)


def parse(resource: Resource, labels: str, fields: str, name: str = "") -> Selection:
    """The selection that a request asks for. `name` is the object in the URL, if any (a watch of one object)."""
    try:
        label_selector = parse_labels(labels) if labels else None
        field_selector = parse_fields(fields) if fields else None
        if field_selector is not None:
            field_selector = field_selector.transformed(
                lambda label, value: (resource.strategy.field_label(label), value)
            )
    except ValueError as error:
        raise status.bad_request(str(error)) from None
    if name:
        if field_selector is not None and field_selector.requirements:
            if field_selector.exact_match("metadata.name") != name:
                raise status.bad_request("fieldSelector metadata.name doesn't match requested name")
        else:
            field_selector = parse_fields(f"metadata.name={name}")
    if label_selector is not None and not label_selector.requirements:
        label_selector = None
    if field_selector is not None and not field_selector.requirements:
        field_selector = None
    return Selection(resource, label_selector, field_selector)
