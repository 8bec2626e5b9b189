"""Admission of MachineDrainRules."""

from __future__ import annotations

from collections.abc import Iterator

from nagaya.api.admission.content import Content, items, mapping, number, text
from nagaya.api.admission.field_error import FieldError, invalid
from nagaya.api.admission.machine_checks import selector_or_error
from nagaya.api.cluster.machine_drain_rule import SKIP, WAIT_COMPLETED


def validate(new: Content, _: Content | None) -> list[FieldError]:
    """What is wrong with a MachineDrainRule."""
    return list(_validate(new))


def _validate(new: Content) -> Iterator[FieldError]:
    order = number(new, "spec", "drain", "order")
    if order is not None and text(new, "spec", "drain", "behavior") in (SKIP, WAIT_COMPLETED):
        detail = f'order must not be set if drain behavior is "{SKIP}" or "{WAIT_COMPLETED}"'
        yield invalid("spec.drain.order", order, detail)
    for name, selectors in (("machines", ("selector", "clusterSelector")), ("pods", ("selector", "namespaceSelector"))):
        for index, entry in enumerate(items(new, "spec", name)):
            for selector in selectors:
                _, problems = selector_or_error(mapping(entry, selector), f"spec.{name}[{index}].{selector}")
                yield from problems
