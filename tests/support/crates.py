"""A kind for tests of the runtime, typed and small, in the collection that `FakeServer` keeps it in."""

from __future__ import annotations

from collections.abc import Mapping

from nagaya.api.kind import Kind, Resource
from nagaya.api.meta import ObjectMeta, OwnerReference

COLLECTION = "api/v1/configmaps"


class Crate(Resource):
    """A ConfigMap, as far as it matters here."""

    data: Mapping[str, str] = {}


CRATES = Kind("", "v1", "ConfigMap", "configmaps", Crate)


def crate(
    name: str,
    version: int,
    *,
    namespace: str = "n",
    uid: str = "",
    labels: Mapping[str, str] | None = None,
    owners: tuple[str, ...] = (),
    **data: str,
) -> Crate:
    """A crate in some state."""
    references = tuple(OwnerReference(api_version="v1", kind="ConfigMap", name=each, uid=each) for each in owners)
    metadata = ObjectMeta(
        name=name,
        namespace=namespace,
        uid=uid or f"uid of {name}",
        resource_version=str(version),
        labels=labels or {},
        owner_references=references,
    )
    return Crate(metadata=metadata, data=data)
