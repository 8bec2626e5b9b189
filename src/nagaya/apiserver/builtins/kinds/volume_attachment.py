"""Volume attachments: which volume has to be attached to which node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds.csi_node import driver_name_errors
from nagaya.apiserver.builtins.kinds.ordered_strategy import OrderedStatusStrategy, OrderedStrategy, Step
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, required, too_long
from nagaya.apiserver.meta.status import JsonObject

_SPEC: Final = Path("spec")
_STATUS: Final = Path("status")
_SOURCE: Final = _SPEC.child("source")
_LARGEST_METADATA: Final = 256 * 1024
_LONGEST_MESSAGE: Final = 1024
_EXACTLY_ONE: Final = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"


class VolumeAttachmentStrategy(OrderedStrategy):
    """VolumeAttachment."""

    allow_unconditional_update = False
    returns_deleted = True
    status_apart = True
    new_status: Mapping[str, object] = {"attached": False}
    reset_fields = ("status",)
    update_steps = (Step.METADATA, Step.RULES, Step.CHANGES)

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """What is attached to what stays."""
        if new["spec"] == old["spec"]:
            return []
        from nagaya.apiserver.builtins.kinds import volume_attachment_inline

        return volume_attachment_inline.changes(new["spec"])

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """A driver, a volume and a node."""
        spec = obj["spec"]
        errors = driver_name_errors(spec["attacher"], _SPEC.child("attacher"))
        errors += _source_errors(spec["source"])
        node, volume = spec["nodeName"], spec["source"].get("persistentVolumeName")
        errors += [invalid(_SPEC.child("nodeName"), node, problem) for problem in names.name_is_subdomain(node)]
        errors += _status_errors(obj["status"])
        if volume is not None:
            where = _SOURCE.child("persistentVolumeName")
            errors += [invalid(where, volume, problem) for problem in names.name_is_subdomain(volume)]
        return errors


class VolumeAttachmentStatusStrategy(OrderedStatusStrategy):
    """Writes to an attachment's status: checked as the whole is."""

    update_steps = VolumeAttachmentStrategy.update_steps
    rules = VolumeAttachmentStrategy.rules


def _source_errors(source: JsonObject) -> list[FieldError]:
    volume, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    if volume is None and inline is None:
        return [required(_SOURCE, _EXACTLY_ONE)]
    if inline is None:
        where = _SOURCE.child("persistentVolumeName")
        return [] if volume else [required(where, "must specify non empty persistentVolumeName")]
    if volume is not None:
        return [forbidden(_SOURCE, _EXACTLY_ONE)]
    from nagaya.apiserver.builtins.kinds import volume_attachment_inline

    return volume_attachment_inline.errors(inline, _SOURCE.child("inlineVolumeSpec"))


def _status_errors(status: JsonObject) -> list[FieldError]:
    metadata: dict[str, str] = status.get("attachmentMetadata") or {}
    errors: list[FieldError] = []
    if sum(names.size(key) + names.size(value) for key, value in metadata.items()) > _LARGEST_METADATA:
        errors.append(too_long(_STATUS.child("attachmentMetadata"), _LARGEST_METADATA))
    for member in ("attachError", "detachError"):
        problem = status.get(member) or {}
        where = _STATUS.child(member)
        if names.size(problem.get("message") or "") > _LONGEST_MESSAGE:
            # The limit that is named is another one in the original too.
            errors.append(too_long(where.child("message"), _LARGEST_METADATA))
        code = problem.get("errorCode")
        if code is not None and code < 0:
            errors.append(invalid(where.child("errorCode"), code, names.out_of_range(0, 2**31 - 1)))
    return errors
