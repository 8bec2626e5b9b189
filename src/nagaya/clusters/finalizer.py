"""Letting objects go: the last write to each."""

from __future__ import annotations

from typing import TypeVar

from nagaya.api.kind import Kind, Object
from nagaya.kube.api import Api
from nagaya.kube.errors import NotFound
from nagaya.kube.key import Key
from nagaya.kube.runtime import Runtime

T = TypeVar("T", bound=Object)


async def release(rt: Runtime, api: Api, kind: Kind[T], obj: T, finalizer: str) -> bool:
    """Take a finalizer away. Returns False if the object was gone already.

    Others may have added theirs since the object was read. Those count, so it is looked at once more.
    """
    present = rt.cache.get(kind, Key.of(obj))
    if present is None or present.metadata.uid != obj.metadata.uid:
        present = obj
    rest = tuple(each for each in present.metadata.finalizers if each != finalizer)
    try:
        await api.metadata(kind, present, finalizers=rest)
    except NotFound:
        return False
    return True
