"""Admission of DataStores: endpoints that can be dialled. All else is in the schema."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nagaya.api.admission.content import Content, texts
from nagaya.api.admission.field_error import FieldError, invalid

_endpoint = re.compile(
    r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9](?:[-A-Za-z0-9.]*[A-Za-z0-9])?):([0-9]{1,5})", re.ASCII
).fullmatch


def validate(new: Content, _: Content | None) -> list[FieldError]:
    """What is wrong with a DataStore."""
    return list(_validate(new))


def _validate(new: Content) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, each in enumerate(texts(new, "spec", "endpoints")):
        field = f"spec.endpoints[{index}]"
        found = _endpoint(each)
        if found is None or not 0 < int(found[1]) < 65536:
            detail = "must be host:port without a scheme, for example etcd-0.example:2379 or [fd00::1]:2379"
            yield invalid(field, each, detail)
        elif each in seen:
            yield invalid(field, each, "must not be given twice")
        seen.add(each)
