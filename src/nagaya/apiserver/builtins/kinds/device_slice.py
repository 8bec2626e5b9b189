"""Resource slices: the devices that a driver has, in portions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStrategy, Step
from nagaya.apiserver.meta import gostring
from nagaya.apiserver.meta.field_errors import FieldError
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call

_DRIVER: Final = "spec.driver"
_NODE: Final = "spec.nodeName"
LISTS: Final = ("bools", "ints", "strings", "versions")
# Not enabled by default, so these are not kept.
_MAPPINGS: Final = "nodeAllocatableResourceMappings"


class ResourceSliceStrategy(OrderedStrategy):
    """ResourceSlice."""

    returns_deleted = True
    counts_generations = True
    selectable_fields = frozenset({_DRIVER, _NODE})
    update_steps = (Step.METADATA_CHANGES, Step.RULES)

    def select(self, obj: JsonObject) -> Mapping[str, str]:
        """The driver and the node."""
        return {_DRIVER: obj["spec"]["driver"], _NODE: obj["spec"].get("nodeName") or ""}

    def field_label(self, label: str) -> str:
        """Slices can be chosen by name, driver and node."""
        if label == "metadata.name" or label in self.selectable_fields:
            return label
        raise ValueError(f"field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}")

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """The first generation, without what is not enabled; taints are there from now on."""
        super().prepare_create(obj, call)
        _drop(obj["spec"], {})
        _date_taints(obj["spec"], call)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The same, and a new generation if anything changes."""
        _date_taints(new["spec"], call)
        super().prepare_update(new, old, call)
        _drop(new["spec"], old["spec"])

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """Devices that fit together, on nodes that can be found."""
        from nagaya.apiserver.builtins.kinds import device_slice_rules

        return device_slice_rules.errors(obj["spec"], old["spec"] if old else None)

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """Drivers in capitals."""
        driver = obj["spec"]["driver"]
        if driver == driver.lower():
            return []
        quoted = gostring.quote(driver)
        return [f"spec.driver: driver names should be lowercase; {quoted} contains uppercase characters"]

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same."""
        return self.warn_create(new, call)


def _date_taints(spec: JsonObject, call: Call) -> None:
    for device in spec.get("devices") or ():
        for taint in device.get("taints") or ():
            if "timeAdded" not in taint:
                taint["timeAdded"] = call.backend.now()


def _drop(spec: JsonObject, old: JsonObject) -> None:
    """Forget what is not enabled, in place, unless it was in use before."""
    before: list[JsonObject] = old.get("devices") or []
    keeps_mappings = any(device.get(_MAPPINGS) for device in before)
    keeps_lists = any(
        member in attribute
        for device in before
        for attribute in (device.get("attributes") or {}).values()
        for member in LISTS
    )
    for device in spec.get("devices") or ():
        if not keeps_mappings:
            device.pop(_MAPPINGS, None)
        if not keeps_lists:
            for attribute in (device.get("attributes") or {}).values():
                for member in LISTS:
                    attribute.pop(member, None)
