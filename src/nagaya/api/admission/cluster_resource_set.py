"""Admission of ClusterResourceSets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.api.admission.content import Content, mapping, put, text
from nagaya.api.admission.field_error import FieldError, invalid
from nagaya.api.admission.machine_checks import selector_or_error
from nagaya.api.admission.selector import as_printed

_APPLY_ONCE: Final = "ApplyOnce"


def default(new: Content, _: Content | None) -> Content:
    """The strategy."""
    return new if mapping(new, "spec").get("strategy") else put(new, _APPLY_ONCE, "spec", "strategy")


def validate(new: Content, old: Content | None) -> list[FieldError]:
    """What is wrong with a ClusterResourceSet."""
    return list(_validate(new, old))


def _validate(new: Content, old: Content | None) -> Iterator[FieldError]:
    content = mapping(new, "spec", "clusterSelector")
    selector, problems = selector_or_error(content, "spec.clusterSelector")
    yield from problems
    if selector is not None and not selector.requirements:
        yield invalid("spec.clusterSelector", as_printed(content), "selector must not be empty")
    if old is None:
        return
    strategy, before = text(new, "spec", "strategy"), text(old, "spec", "strategy")
    if before and before != strategy:
        yield invalid("spec.strategy", strategy, "field is immutable")
    if mapping(old, "spec", "clusterSelector") != content:
        yield invalid("spec.clusterSelector", as_printed(content), "field is immutable")
