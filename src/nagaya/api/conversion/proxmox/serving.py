"""CRDs that have both versions: for an API server that has somebody to ask for conversion, and for one that had.

What is stored is v1alpha2. Once an API server has had v1alpha1 it must not forget it: objects that were written in it
say so in their managedFields, and server-side apply fails on them if the CRD does not name the version at all.
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
    webhook = {"clientConfig": dict(client_config), "conversionReviewVersions": ["v1"]}
    return _both(definition, {"strategy": "Webhook", "webhook": webhook}, served=True)


def without_conversion(definition: Definition) -> dict[str, Any]:
    """The CRD of a kind while nobody converts: v1alpha1 is known, but not served. Nothing may be stored in it."""
    return _both(definition, {"strategy": "None"}, served=False)


def _both(definition: Definition, conversion: Content, *, served: bool) -> dict[str, Any]:
    result = render(definition)
    (new,) = result["spec"]["versions"]
    result["spec"]["versions"] = [new, {**old_version(definition), "served": served}]
    result["spec"]["conversion"] = dict(conversion)
    return result


def old_version(definition: Definition) -> dict[str, Any]:
    """The entry for v1alpha1 among the versions of a CRD."""
    kind = definition.kind.kind
    return {
        "name": OLD_VERSION,
        "served": True,
        "storage": False,
        "deprecated": True,
        "deprecationWarning": f"{kind} {OLD_VERSION} still works: write {VERSION} in new manifests",
        "schema": {"openAPIV3Schema": old_schema(definition)},
        "subresources": {"status": {}} if definition.status else {},
    }
