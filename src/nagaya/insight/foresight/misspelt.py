"""The field that was meant, when the server says that it knows none of that name: one of the schema that comes near."""

from __future__ import annotations

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

from nagaya.api.kind import Kind
from nagaya.insight.picture.search import ALIKE
from nagaya.kube.client import Client
from nagaya.kube.definitions import DEFINITIONS
from nagaya.kube.errors import Forbidden, NotFound

_UNKNOWN: Final = re.compile(r"^(\.\S+): field not declared in schema")
_STEP: Final = re.compile(r"\.([^.\[\]]+)|(\[[^\]]*\])")


async def meant(client: Client, kind: Kind[Any], refusal: str) -> str:
    """A sentence to add to what a server says of a field; empty if nothing can be said."""
    found = _UNKNOWN.match(refusal)
    if found is None or "." not in kind.group:
        return ""
    try:
        definition = await client.get(DEFINITIONS, "", f"{kind.plural}.{kind.group}")
    except (NotFound, Forbidden):
        return ""
    for version in definition.at("spec", "versions") or ():
        if version.get("name") == kind.version:
            return suggestion(version.get("schema", {}).get("openAPIV3Schema", {}), found[1])
    return ""


def suggestion(schema: Mapping[str, Any], path: str) -> str:
    """What a path that a schema does not have was probably meant to be. Pure."""
    *steps, last = [match[1] or match[2] for match in _STEP.finditer(path)]
    for each in steps:
        if each.startswith("["):
            schema = schema.get("items") or {}
        else:
            schema = (schema.get("properties") or {}).get(each) or schema.get("additionalProperties") or {}
        if not isinstance(schema, Mapping):
            return ""
    known = {name.lower(): name for name in schema.get("properties") or ()}
    near = get_close_matches(last.lower(), known, n=1, cutoff=ALIKE)
    return f" Did you mean {known[near[0]]}?" if near else ""
