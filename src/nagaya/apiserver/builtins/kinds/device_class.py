"""Device classes: kinds of devices that claims can ask for by name."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, Step
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.status import JsonObject

_SPEC: Final = Path("spec")


class DeviceClassStrategy(OrderedStrategy):
    """DeviceClass."""

    generate_name_checked = False
    returns_deleted = True
    counts_generations = True
    update_steps = (Step.METADATA, Step.METADATA_CHANGES, Step.RULES)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Selectors, and what drivers are told. What was there before may be larger than it could be now."""
        from nagaya.apiserver.builtins.kinds import core_resources, device_checks, device_selector

        spec = obj["spec"]
        kept = old is not None and spec.get("config") == old["spec"].get("config")
        errors = device_selector.selectors(spec.get("selectors") or [], _SPEC.child("selectors"))
        errors += device_checks.each(
            spec.get("config") or (),
            device_checks.MOST_CONFIGURATIONS,
            lambda config, where: device_checks.configuration(config, where, stored=kept),
            _SPEC.child("config"),
        )
        name = spec.get("extendedResourceName")
        if name is not None and not core_resources.is_extended(name):
            detail = "must be a valid extended resource name"
            errors.append(invalid(_SPEC.child("extendedResourceName"), name, detail))
        return errors
