"""Pods made from templates, and the names by which their makers tell one template from another."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping

import orjson

from nagaya.apiserver.meta.status import JsonObject

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"  # no vowels, so that no words come about


def template_hash(template: JsonObject) -> str:
    """A short name for a template: equal ones have equal names. Kubernetes would choose other letters."""
    digest = hashlib.sha256(orjson.dumps(template, option=orjson.OPT_SORT_KEYS)).digest()
    return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:10])


def owner_reference(owner: JsonObject, kind: str, api_version: str = "apps/v1") -> JsonObject:
    """A reference to the controller of what is made."""
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from(
    owner: JsonObject,
    kind: str,
    *,
    name: str = "",
    labels: Mapping[str, str] | None = None,
    api_version: str = "apps/v1",
) -> JsonObject:
    """A pod of a workload's template, with a generated name unless one is given."""
    template = owner["spec"]["template"]
    given = template.get("metadata") or {}
    metadata: JsonObject = {
        "namespace": owner["metadata"]["namespace"],
        "labels": {**(given.get("labels") or {}), **(labels or {})},
        "ownerReferences": [owner_reference(owner, kind, api_version)],
    }
    if given.get("annotations"):
        metadata["annotations"] = dict(given["annotations"])
    if name:
        metadata["name"] = name
    else:
        metadata["generateName"] = f"{owner['metadata']['name']}-"
    return {"metadata": metadata, "spec": copy.deepcopy(template["spec"])}


def share(value: int | str | None, whole: int, otherwise: int, *, up: bool) -> int:
    """A count that may be given as a percentage of a whole."""
    if value is None:
        return otherwise
    if isinstance(value, int):
        return value
    if not value.endswith("%"):
        return int(value)
    part = int(value[:-1]) * whole
    return -(-part // 100) if up else part // 100
