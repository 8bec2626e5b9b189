"""Archives of tenants that never were."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from nagaya.api.cluster.labels import CLUSTER_NAME
from nagaya.api.cluster.secrets import TYPE
from nagaya.api.controlplane.data_store import DATA_STORES, DataStore
from nagaya.api.untyped import Untyped
from nagaya.controlplane.hosted.archive import form
from nagaya.controlplane.hosted.archive.found import Found
from nagaya.controlplane.hosted.archive.objects import Names
from nagaya.controlplane.hosted.archive.reader import Contents
from nagaya.controlplane.hosted.archive.writer import ArchiveWriter
from nagaya.controlplane.hosted.data_store import snapshots
from nagaya.controlplane.hosted.data_store.snapshots import Entry

UID = "11111111-2222-3333-4444-555555555555"
OTHER_UID = "99999999-2222-3333-4444-555555555555"
NAMES = Names("team", "shop", "shop-plane")


def head(**changes: Any) -> form.Head:
    given = {
        "made": "2030-01-02T03:04:05+00:00",
        "namespace": NAMES.namespace,
        "cluster": NAMES.cluster,
        "control_plane": NAMES.control_plane,
        "uid": UID,
        "version": "v1.36.3",
        "data_store": "default",
        "driver": "etcd",
    }
    return form.Head(**{**given, **changes})


def cluster(**spec: Any) -> dict[str, Any]:
    reference = {"apiGroup": "controlplane.cluster.x-k8s.io", "kind": "HostedControlPlane", "name": NAMES.control_plane}
    return {
        "apiVersion": "cluster.x-k8s.io/v1beta2",
        "kind": "Cluster",
        "metadata": {"name": NAMES.cluster, "namespace": NAMES.namespace, "uid": "c"},
        "spec": {"controlPlaneRef": reference, **spec},
    }


def control_plane(*, uid: str = UID, annotations: Mapping[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "controlplane.cluster.x-k8s.io/v1alpha1",
        "kind": "HostedControlPlane",
        "metadata": {
            "name": NAMES.control_plane,
            "namespace": NAMES.namespace,
            "uid": uid,
            "resourceVersion": "7",
            "labels": {CLUSTER_NAME: NAMES.cluster},
            "annotations": dict(annotations or {}),
        },
        "spec": {"version": "v1.36.3", "replicas": 2, "dataStoreRef": {"name": "default"}, **spec},
    }


def secret(name: str, value: str = "QQ==") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMES.namespace, "labels": {CLUSTER_NAME: NAMES.cluster}},
        "type": TYPE,
        "data": {"tls.crt": value},
    }


def data_store(name: str = "default", driver: str = "etcd") -> DataStore:
    content = {"metadata": {"name": name, "uid": "d"}, "spec": {"driver": driver}, "status": {"ready": True}}
    return DATA_STORES.convert(content)


def contents(**changes: Any) -> Contents:
    return Contents(
        changes.pop("head", head()),
        changes.pop("cluster", cluster()),
        changes.pop("control_plane", control_plane()),
        {name: secret(name) for name in changes.pop("secrets", ("shop-ca", "shop-proxy", "shop-sa"))},
        revision=41,
        keys=3,
        digest=changes.pop("digest", "abc"),
    )


def found(
    names: Names = NAMES,
    *,
    plane: Mapping[str, Any] | None = None,
    owner: Mapping[str, Any] | None = None,
    secrets: Sequence[Mapping[str, Any]] = (),
    store: DataStore | None = None,
) -> Found:
    return Found(
        names,
        None if owner is None else Untyped(owner),
        None if plane is None else Untyped(plane),
        {each["metadata"]["name"]: Untyped(each) for each in secrets},
        store or data_store(),
    )


async def copy_of(entries: Sequence[Entry], uid: str = UID, revision: int = 41) -> bytes:
    async def pages() -> AsyncIterator[Sequence[Entry]]:
        yield entries

    head_of_copy = snapshots.Head(revision, "2030-01-02T03:04:05+00:00", uid)
    return b"".join([piece async for piece in snapshots.encode(head_of_copy, pages())])


def write(
    path: Path,
    data: bytes,
    *,
    secrets: Sequence[str] = ("shop-ca",),
    first: form.Head | None = None,
    pieces: int = 1000,
) -> None:
    """An archive as `back_up` makes it, given its data."""
    with ArchiveWriter(path) as writer:
        writer.add(form.HEAD, msgspec.json.encode(first or head()))
        writer.add(form.CLUSTER, msgspec.json.encode(cluster()))
        writer.add(form.CONTROL_PLANE, msgspec.json.encode(control_plane()))
        for name in sorted(f"{form.SECRETS}{each}.json" for each in secrets):
            content = secret(name.removeprefix(form.SECRETS).removesuffix(".json"))
            writer.add(name, msgspec.json.encode(content))
        for begin in range(0, len(data), pieces):
            writer.add_data(data[begin : begin + pieces])
        writer.finish()
        writer.keep(overwrite=True)
