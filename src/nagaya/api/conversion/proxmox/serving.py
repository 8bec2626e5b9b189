"""CRDs that have both versions, for an API server that has somebody to ask for conversion.

What is stored is v1alpha2.
"""

from __future__ import annotations

from typing import Any

from nagaya.api.conversion.proxmox.old_schema import old_schema
from nagaya.api.conversion.proxmox.values import Content
from nagaya.api.crd import render
from nagaya.api.definition import Definition
from nagaya.api.proxmox.group import OLD_VERSION, VERSION


def with_old_version(definition: Definition, client_config: Content) -> dict[str, Any]:
    """The CRD of a kind with v1alpha1 beside v1alpha2. The webhook is asked for conversion, as `review` answers."""
    result = render(definition)
    (new,) = result["spec"]["versions"]
    kind = definition.kind.kind
    old = {
        "name": OLD_VERSION,
        "served": True,
        "storage": False,
        "deprecated": True,
        "deprecationWarning": f"{kind} {OLD_VERSION} still works: write {VERSION} in new manifests",
        "schema": {"openAPIV3Schema": old_schema(definition)},
        "subresources": new["subresources"],
    }
    result["spec"]["versions"] = [old, new]
    result["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": dict(client_config), "conversionReviewVersions": ["v1"]},
    }
    return result
