"""Labels and the owner, which all objects of a control plane have: they go with it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from nagaya.controlplane.hosted.kubernetes import names
from nagaya.controlplane.hosted.kubernetes.kinds import Content
from nagaya.controlplane.hosted.kubernetes.tenancy import Tenancy


def metadata(
    tenancy: Tenancy,
    part: str,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> Content:
    """The metadata of an object, but for its name. Our labels win over the user's."""
    own = names.labels(tenancy.name, tenancy.facts.cluster_name, part)
    found: Content = {"labels": {**(labels or {}), **own}, "ownerReferences": [msgspec.to_builtins(tenancy.owner)]}
    if annotations:
        found["annotations"] = dict(annotations)
    return {"metadata": found}
