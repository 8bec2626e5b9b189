"""Claims as Go's internal types have them, for the messages that they must not change."""

from __future__ import annotations

from typing import Final

from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape, shape
from nagaya.apiserver.meta.field_errors import OMITTED, Cause, FieldError
from nagaya.apiserver.meta.govalue import struct_json
from nagaya.apiserver.meta.object_meta import IMMUTABLE
from nagaya.apiserver.meta.status import JsonObject

_SELECTORS: Final = "Selectors=selectors:[CEL=cel:*{Expression=expression:s}]"
_TOLERATIONS: Final = (
    "Tolerations=tolerations:[Key=key:s Operator=operator:s Value=value:s Effect=effect:s "
    "TolerationSeconds=tolerationSeconds:p]"
)
_COUNT: Final = "AllocationMode=allocationMode:s Count=count:i"
_CAPACITY: Final = "Capacity=capacity:*{Requests=requests:p}"
_OPAQUE: Final = "Opaque=opaque:*{Driver=driver:s Parameters=parameters:p}"
_CLAIM: Final = (
    "Devices=devices:{Requests=requests:[Name=name:s "
    f"Exactly=exactly:*{{DeviceClassName=deviceClassName:s {_SELECTORS} {_COUNT} AdminAccess=adminAccess:p "
    f"{_TOLERATIONS} {_CAPACITY}}} "
    f"FirstAvailable=firstAvailable:[Name=name:s DeviceClassName=deviceClassName:s {_SELECTORS} {_COUNT} "
    f"{_TOLERATIONS} {_CAPACITY}]] "
    "Constraints=constraints:[Requests=requests:p MatchAttribute=matchAttribute:p "
    "DistinctAttribute=distinctAttribute:p] "
    f"Config=config:[Requests=requests:p {_OPAQUE}]}}"
)
_REQUIREMENT: Final = "[Key=key:s Operator=operator:s Values=values:p]"
_ALLOCATION: Final = (
    "Devices=devices:{Results=results:[Request=request:s Driver=driver:s Pool=pool:s Device=device:s "
    f"AdminAccess=adminAccess:p {_TOLERATIONS} BindingConditions=bindingConditions:p "
    "BindingFailureConditions=bindingFailureConditions:p ShareID=shareID:p ConsumedCapacity=consumedCapacity:p] "
    f"Config=config:[Source=source:s Requests=requests:p {_OPAQUE}]}} "
    f"NodeSelector=nodeSelector:*{{NodeSelectorTerms=nodeSelectorTerms:[MatchExpressions=matchExpressions:"
    f"{_REQUIREMENT} MatchFields=matchFields:{_REQUIREMENT}]}} AllocationTimestamp=allocationTimestamp:p"
)


def claim_changed(spec: JsonObject) -> list[FieldError]:
    """The message for a claim whose spec changes."""
    return [invalid_shape("spec", shape(_CLAIM), spec, IMMUTABLE)]


def allocation_changed(allocation: JsonObject) -> list[FieldError]:
    """The message for a claim whose allocation changes."""
    return [invalid_shape("status.allocation", shape(_ALLOCATION), allocation, IMMUTABLE)]


def template_changed(spec: JsonObject) -> list[FieldError]:
    """The message for a template that changes. Its metadata is written as users know it."""
    metadata = spec.get("metadata") or {}
    members = {
        member: {key: metadata[member][key] for key in sorted(metadata[member])}
        for member in ("labels", "annotations")
        if metadata.get(member)
    }
    shown = struct_json({**members, "Spec": shape(_CLAIM).of(spec["spec"])})
    return [FieldError(Cause.INVALID, "spec", OMITTED, f"{shown}: {IMMUTABLE}")]
