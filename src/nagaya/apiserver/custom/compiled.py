"""A version of a definition, compiled: what its schema and rules say, ready to be asked.

Compiling is dear, and servers of one process often serve the same definitions, as does one server that starts again or
whose definitions are written again as they were. So what was compiled lately is kept, by its content. What was compiled
never changes; nobody can tell whether it is shared.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import Final, NamedTuple, cast

import orjson

from nagaya.apiserver.crd.resource import CustomResource
from nagaya.apiserver.crd.rules import RuleCompiler
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.schema.openapi_types import types_from_openapi
from nagaya.apiserver.schema.types import Struct

_KEPT: Final = 128


class Compiled(NamedTuple):
    """What a version makes of its objects, and the types of their fields."""

    resource: CustomResource
    types: Struct


def compiled(kind: str, version: JsonObject, compile_rules: RuleCompiler) -> Compiled:
    """An entry of `spec.versions`, compiled."""
    return _compiled(kind, orjson.dumps(version), cast(Hashable, compile_rules))


@lru_cache(_KEPT)
def _compiled(kind: str, content: bytes, compile_rules: RuleCompiler) -> Compiled:
    resource = CustomResource(kind, orjson.loads(content), compile_rules)
    return Compiled(resource, types_from_openapi(resource.raw_schema))
