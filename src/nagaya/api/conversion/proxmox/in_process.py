"""v1alpha1 for an API server in the same process, which needs no webhook.

Such a server is given `IN_PROCESS` and serves v1alpha1 of every definition that stores v1alpha2 and has nobody else to
ask: one of ours, as `nagaya crds` prints it. CAPMOX's own definition, with its own webhook, is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from nagaya.api.conversion.proxmox.objects import KINDS
from nagaya.api.conversion.proxmox.review import converted
from nagaya.api.conversion.proxmox.values import Content
from nagaya.api.proxmox.group import GROUP, OLD_VERSION, VERSION


class OldVersion:
    """v1alpha1 of one kind."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def completed(self, spec: Content) -> dict[str, Any] | None:
        """The `spec` of a definition with v1alpha1; None if it does not store v1alpha2, or somebody else converts."""
        versions = {each["name"]: each for each in spec["versions"]}
        stores = VERSION in versions and versions[VERSION].get("storage")
        served = OLD_VERSION in versions and versions[OLD_VERSION].get("served")
        if not stores or served:
            return None
        versions[OLD_VERSION] = _entry(self._kind)
        return {**spec, "versions": [*versions.values()]}

    def convert(self, content: Content, api_version: str) -> dict[str, Any]:
        """An object in the other version. Raises Unconvertible."""
        return converted(content, api_version)


@cache
def _entry(kind: str) -> dict[str, Any]:
    # Only now: many servers never see the kind, and all models come with the catalog.
    from nagaya.api.catalog import PARTS
    from nagaya.api.conversion.proxmox.serving import old_version

    (definition,) = (each for each in PARTS["infrastructure-proxmox"] if each.kind.kind == kind)
    return old_version(definition)


IN_PROCESS: Final[Mapping[str, OldVersion]] = {f"{kind.lower()}s.{GROUP}": OldVersion(kind) for kind in KINDS}
"""By `plural.group`."""
