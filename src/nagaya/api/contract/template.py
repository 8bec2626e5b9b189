"""From a provider's template to an object: what MachineSets and control planes do for every machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from nagaya.api.cluster import annotations as annotation_names
from nagaya.api.cluster import labels as label_names
from nagaya.api.meta import NONE, OwnerReference
from nagaya.api.untyped import Untyped

SUFFIX: Final = "Template"


def clone(
    template: Untyped,
    *,
    name: str,
    cluster: str,
    owner: OwnerReference,
    labels: Mapping[str, str] = NONE,
    annotations: Mapping[str, str] = NONE,
) -> Untyped:
    """The object that a template describes, in the template's namespace, with a note of where it came from.

    A template without `spec.template` describes an object without content.
    """
    inner = template.at("spec", "template")
    content: dict[str, Any] = dict(inner) if isinstance(inner, Mapping) else {}
    said = content.get("metadata") or {}
    group, _, _ = template.api_version.rpartition("/")
    content["metadata"] = {
        "name": name,
        "namespace": template.metadata.namespace,
        "labels": {**(said.get("labels") or {}), **labels, label_names.CLUSTER_NAME: cluster},
        "annotations": {
            **(said.get("annotations") or {}),
            **annotations,
            annotation_names.CLONED_FROM_NAME: template.metadata.name,
            annotation_names.CLONED_FROM_GROUP_KIND: f"{template.kind}.{group}" if group else template.kind,
        },
        "ownerReferences": [msgspec.to_builtins(owner)],
    }
    content.setdefault("apiVersion", template.api_version)
    content.setdefault("kind", template.kind.removesuffix(SUFFIX))
    return Untyped(content)
