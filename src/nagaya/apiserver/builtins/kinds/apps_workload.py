"""What the kinds that keep pods running have in common: a selector, a template, and a count of generations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from nagaya.apiserver.builtins.kinds import core_metadata, pod_template
from nagaya.apiserver.builtins.kinds.core_goshape import Shape
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStatusStrategy, CoreStrategy, restore
from nagaya.apiserver.builtins.kinds.pod_defaults import default_template
from nagaya.apiserver.meta import integers, names
from nagaya.apiserver.meta.field_errors import OMITTED, Cause, FieldError, Path, forbidden, invalid, not_supported
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.selectors.labels import LabelSelector
from nagaya.apiserver.selectors.requirement import SelectorError

SPEC: Final = Path("spec")
STATUS: Final = Path("status")
TEMPLATE: Final = SPEC.child("template")
NEGATIVE: Final = "must be greater than or equal to 0"


class WorkloadStrategy(CoreStrategy):
    """A kind with a pod template in its spec."""

    reset_fields = ("status",)
    # The spec's type, and what a status looks like that says nothing.
    spec_struct: str = ""
    empty_status: Mapping[str, Any] = {}
    # Whether the name becomes part of host names, which are shorter than names may be.
    warns_of_name: bool = False
    # Whether `spec.replicas` is a plain number inside the real server, so that none at all is shown as 0.
    replicas_always_shown: bool = False

    def default(self, obj: JsonObject) -> None:
        """The template, then what the kind itself has."""
        spec: JsonObject = obj.setdefault("spec", {})
        default_template(spec.setdefault("template", {}))
        self.default_spec(obj, spec)

    def complete_bookmark(self, obj: JsonObject) -> None:
        """The number of replicas, where it is always shown."""
        if self.replicas_always_shown:
            obj["spec"] = {"replicas": 0, **obj["spec"]}

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        """What the kind's own spec may leave out."""

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """Nothing has been seen of it yet."""
        obj["status"] = {**self.empty_status}
        obj["metadata"]["generation"] = 1
        pod_template.drop_disabled(self.template(obj), None)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The status stays; a changed spec counts."""
        restore(new, old, "status")
        pod_template.drop_disabled(self.template(new), self.template(old))
        if self.counts(new, old):
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def counts(self, new: JsonObject, old: JsonObject) -> bool:
        """Whether a change makes a new generation."""
        from nagaya.apiserver.builtins.kinds.pod_sameness import same

        return not same(self.spec_struct, new.get("spec"), old.get("spec"))

    def template(self, obj: JsonObject) -> JsonObject:
        """The template of the pods."""
        template: JsonObject = (obj.get("spec") or {}).get("template") or {}
        return template

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The rules for metadata, those for the whole object, and what must not change."""
        return [
            *core_metadata.updated(new["metadata"], old["metadata"], found),
            *self.rules(new, old),
            *self.changes(new, old),
        ]

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """What is likely a mistake."""
        warnings = []
        problems = names.dns_label(obj["metadata"]["name"]) if self.warns_of_name else []
        if problems:
            advice = "this is used in Pod names and hostnames, which can result in surprising behavior"
            warnings.append(f"metadata.name: {advice}; a DNS label is recommended: [{' '.join(problems)}]")
        return [*warnings, *pod_template.template_warnings(self.template(obj), TEMPLATE)]

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same, if there is a new generation."""
        if new["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return pod_template.template_warnings(self.template(new), TEMPLATE)


class WorkloadStatusStrategy(CoreStatusStrategy):
    """What a workload's controller reports: counts that fit together."""

    def __init__(
        self,
        main: WorkloadStrategy,
        counted: Sequence[str],
        within: Sequence[tuple[str, str, str]] = (),
        *,
        keeps_labels: bool = False,
    ) -> None:
        super().__init__(main)
        self._counted = counted
        self._within = within
        self._keeps_labels = keeps_labels
        if keeps_labels:
            self.reset_fields: tuple[str, ...] = ("spec", "metadata.labels")

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """Keep the spec, and for some kinds the labels."""
        restore(new, old, "spec")
        if self._keeps_labels:
            restore(new["metadata"], old["metadata"], "labels")

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """No count is negative, none is larger than what it is a part of, and collisions only add up."""
        status = new.get("status") or {}
        errors = list(validate_counts(status, self._counted, STATUS))
        for part, whole, told in self._within:
            if (status.get(part) or 0) > (status.get(whole) or 0):
                errors.append(invalid(STATUS.child(part), status.get(part) or 0, f"cannot be greater than {told}"))
        if "collisionCount" in self._counted:
            before, after = (old.get("status") or {}).get("collisionCount"), status.get("collisionCount")
            if before is not None and (after is None or after < before):
                errors.append(invalid(STATUS.child("collisionCount"), after or 0, "cannot be decremented"))
        return errors


def validate_counts(holder: JsonObject, fields: Sequence[str], path: Path) -> Iterator[FieldError]:
    """Numbers that must not be negative."""
    for field in fields:
        if (number := holder.get(field) or 0) < 0:
            yield invalid(path.child(field), number, NEGATIVE)


def compiled_selector(spec: JsonObject) -> LabelSelector | None:
    """A spec's selector ready to match; None if it cannot be read."""
    try:
        return label_selector.compiled(spec.get("selector"))
    except SelectorError:
        return None


def validate_match(selector: LabelSelector, template: JsonObject) -> Iterator[FieldError]:
    """A workload must select the pods it makes."""
    labels = (template.get("metadata") or {}).get("labels")
    if not selector.selects_everything and not selector.matches(labels):
        yield invalid(TEMPLATE.child("metadata", "labels"), labels, "`selector` does not match template `labels`")


def validate_always(template: JsonObject, kind: str) -> Iterator[FieldError]:
    """Pods of a workload that never ends never end either."""
    spec = template.get("spec") or {}
    policy = spec.get("restartPolicy") or ""
    if policy != "Always":
        yield not_supported(TEMPLATE.child("spec", "restartPolicy"), policy, ("Always",))
    if spec.get("activeDeadlineSeconds") is not None:
        where = TEMPLATE.child("spec", "activeDeadlineSeconds")
        yield forbidden(where, f"activeDeadlineSeconds in {kind} is not Supported")


def not_supported_shape(path: Path, kind: Shape, value: JsonObject, known: Sequence[str]) -> FieldError:
    """A struct that is none of the supported ones, shown as Go shows its internal type."""
    shown = json.dumps(kind.of(value), separators=(",", ":"), ensure_ascii=False)
    return FieldError(Cause.NOT_SUPPORTED, str(path), OMITTED, f"{shown}: {not_supported(path, '', known).detail}")


def before(old: JsonObject | None) -> JsonObject | None:
    """The template that an old object had; None for a new object."""
    return None if old is None else ((old.get("spec") or {}).get("template") or {})


def validate_share(value: Any, path: Path) -> Iterator[FieldError]:
    """A number of pods, or a percentage of them."""
    if isinstance(value, str):
        yield from (invalid(path, value, problem) for problem in names.percent(value))
    elif value < 0:
        yield invalid(path, value, NEGATIVE)


def validate_at_most_all(value: Any, path: Path) -> Iterator[FieldError]:
    """A share that is not larger than the whole."""
    if isinstance(value, str) and not names.percent(value) and share(value) > 100:
        yield invalid(path, value, "must not be greater than 100%")


def share(value: Any) -> int:
    """The number in a number or percentage, as the real server reads it."""
    if isinstance(value, int):
        return value
    return integers.clamped(value if names.percent(value) else value[:-1]) or 0
