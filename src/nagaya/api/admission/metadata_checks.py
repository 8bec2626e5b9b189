"""Checks of labels and annotations, where an object carries some for others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.content import Content, mapping
from nagaya.api.admission.field_error import FieldError, invalid, too_long
from nagaya.api.admission.names import label_key, label_value

_ANNOTATIONS_LIMIT: Final = 256 * 1024


def check_metadata(metadata: Content, field: str) -> Iterator[FieldError]:
    """What is wrong with the labels and annotations of a template."""
    for key, value in mapping(metadata, "labels").items():
        yield from (invalid(f"{field}.labels", key, problem) for problem in label_key(key))
        yield from (invalid(f"{field}.labels", value, problem) for problem in label_value(str(value)))
    annotations = mapping(metadata, "annotations")
    for key in annotations:
        yield from (invalid(f"{field}.annotations", key, problem) for problem in label_key(key.lower()))
    if sum(len(key.encode()) + len(str(value).encode()) for key, value in annotations.items()) > _ANNOTATIONS_LIMIT:
        yield too_long(f"{field}.annotations", _ANNOTATIONS_LIMIT)
