"""Templates of pods: those that stand alone as a kind, and the rules for all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.builtins.kinds import core_metadata
from nagaya.apiserver.builtins.kinds.core_strategy import CoreStrategy
from nagaya.apiserver.builtins.kinds.pod_defaults import default_template
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden
from nagaya.apiserver.meta.object_meta import validate_annotations, validate_labels
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_TEMPLATE: Final = Path("template")


def validate_template(template: JsonObject, old: JsonObject | None, path: Path) -> Iterator[FieldError]:
    """What is wrong with a template; `old` is what it was before."""
    from nagaya.apiserver.builtins.kinds import pod_annotations
    from nagaya.apiserver.builtins.kinds.pod_rules import NEW_TEMPLATE, rules_after
    from nagaya.apiserver.builtins.kinds.pod_spec import validate_pod_spec

    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    rules = NEW_TEMPLATE
    if old is not None:
        rules = rules_after(old.get("spec") or {}, old.get("metadata") or {}, for_pod=False)
    yield from validate_labels(metadata.get("labels") or {}, path.child("labels"))
    yield from validate_annotations(metadata.get("annotations") or {}, path.child("annotations"))
    yield from pod_annotations.validate_annotations(metadata, spec, path.child("annotations"), rules)
    yield from validate_pod_spec(spec, None, path.child("spec"), rules)
    yield from pod_annotations.validate_agreement(metadata, spec, path.child("spec"))
    if spec.get("ephemeralContainers"):
        where = path.child("spec", "ephemeralContainers")
        yield forbidden(where, "ephemeral containers not allowed in pod template")


def template_warnings(template: JsonObject | None, path: Path) -> list[str]:
    """What is likely a mistake in a template."""
    from nagaya.apiserver.builtins.kinds import pod_warnings

    return [] if template is None else pod_warnings.for_template(template, path)


def drop_disabled(template: JsonObject | None, old: JsonObject | None) -> None:
    """Drop from a template what is switched off in this version, in place."""
    from nagaya.apiserver.builtins.kinds import pod_disabled

    pod_disabled.drop_disabled_in_template(template, old)


class PodTemplateStrategy(CoreStrategy):
    """Templates that stand alone."""

    returns_deleted = True

    def default(self, obj: JsonObject) -> None:
        """Everything a template may leave out."""
        default_template(obj.setdefault("template", {}))

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """The first generation."""
        obj["metadata"]["generation"] = 1
        drop_disabled(obj.get("template"), None)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """A changed template counts."""
        from nagaya.apiserver.builtins.kinds.pod_sameness import same

        drop_disabled(new.get("template"), old.get("template"))
        if not same("core/v1.PodTemplateSpec", new.get("template"), old.get("template")):
            new["metadata"]["generation"] = (old["metadata"].get("generation") or 0) + 1

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The rules for templates."""
        before = None if old is None else old.get("template") or {}
        return list(validate_template(obj.get("template") or {}, before, _TEMPLATE))

    def validate_update(
        self, new: JsonObject, old: JsonObject, call: Call, found: Sequence[FieldError]
    ) -> list[FieldError]:
        """The same for a change."""
        return [*core_metadata.updated(new["metadata"], old["metadata"], found), *self.rules(new, old)]

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """What is likely a mistake."""
        return template_warnings(obj.get("template"), _TEMPLATE)

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same, if the template changed."""
        changed = new["metadata"].get("generation") != old["metadata"].get("generation")
        return self.warn_create(new, call) if changed else []
