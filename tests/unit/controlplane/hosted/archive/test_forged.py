"""Archives that a tenant made up, restored by an administrator."""

from __future__ import annotations

import asyncio
import copy
import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from nagaya.api.controlplane.data_store import DataStore
from nagaya.api.kind import Kind
from nagaya.controlplane.hosted.archive import form
from nagaya.controlplane.hosted.archive.errors import ArchiveDamaged, ArchiveError
from nagaya.controlplane.hosted.archive.objects import RESTORING
from nagaya.controlplane.hosted.archive.plan import Asked, plan
from nagaya.controlplane.hosted.archive.reader import Contents
from nagaya.controlplane.hosted.archive.restore import Restorer, read_whole
from nagaya.controlplane.hosted.data_store.driver import Driver
from nagaya.controlplane.hosted.data_store.snapshots import Entry
from nagaya.kube.client import Client
from nagaya.kube.errors import ApiError, Call, Invalid
from nagaya.world import World
from support.tenant_archives import NAMES, OTHER_UID, cluster, contents, control_plane, copy_of, found, head

Change = Callable[[dict[str, Any]], object]


def refusal(archive: Contents) -> str:
    planned = plan(archive, Asked(NAMES), found())
    if planned.refused:
        assert (planned.control_plane, planned.cluster, planned.secrets) == (None, None, {})
    return planned.refused


def changed(content: dict[str, Any], change: Change) -> dict[str, Any]:
    content = copy.deepcopy(content)
    change(content)
    return content


def test_an_archive_that_nagaya_made_is_accepted() -> None:
    assert refusal(contents()) == ""


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"extraArgs": [{"name": "audit-webhook-config-file", "value": "/x"}]}, "spec.apiServer.extraArgs[0].name"),
        ({"extraArgs": [{"name": "etcd-prefix=/other", "value": ""}]}, "spec.apiServer.extraArgs[0].name"),
        ({"extraArgs": [{"name": "v", "value": "10"}]}, "spec.apiServer.extraArgs[0].value"),
        ({"admissionPlugins": {"enable": ["ImagePolicyWebhook"]}}, "spec.apiServer.admissionPlugins.enable"),
        ({"authentication": {"jwt": [{"issuer": {"url": "https://[::1]"}}]}}, "jwt[0].issuer.url"),
        ({"audit": {"policy": {"users": []}}}, "spec.apiServer.audit.policy"),
    ],
)
def test_settings_are_those_that_the_api_accepts(settings: dict[str, Any], words: str) -> None:
    found = refusal(contents(control_plane=control_plane(apiServer=settings)))
    assert found.startswith("An object of the archive is not accepted: ")
    assert words in found


@pytest.mark.parametrize(
    ("part", "change"),
    [
        (
            "control_plane",
            lambda each: each.update(kind="ClusterRoleBinding", apiVersion="rbac.authorization.k8s.io/v1"),
        ),
        ("control_plane", lambda each: each["metadata"].update(namespace="kube-system")),
        ("control_plane", lambda each: each["metadata"].update(name="other")),
        ("control_plane", lambda each: each.update(metadata=[])),
        ("control_plane", lambda each: each.update(spec=7)),
        ("control_plane", lambda each: each["metadata"].update(labels=["x"])),
        ("control_plane", lambda each: each["spec"].update(apiServer={"extraArgs": "x"})),
        ("cluster", lambda each: each.update(kind="Secret")),
        ("cluster", lambda each: each["metadata"].update(namespace="other")),
        ("cluster", lambda each: each["spec"].pop("controlPlaneRef")),
        ("cluster", lambda each: each["spec"]["controlPlaneRef"].update(name="victim")),
        ("cluster", lambda each: each["spec"]["controlPlaneRef"].update(kind="KubeadmControlPlane")),
        ("cluster", lambda each: each["spec"]["controlPlaneRef"].update(apiGroup="evil.example")),
    ],
)
def test_objects_are_those_of_the_tenant_that_the_archive_names(part: str, change: Change) -> None:
    content = changed({"control_plane": control_plane, "cluster": cluster}[part](), change)
    assert refusal(contents(**{part: content})).startswith("This is not an archive that Nagaya has made: ")


@pytest.mark.parametrize(
    "change",
    [
        lambda each: each.update(kind="ServiceAccount"),
        lambda each: each.update(type="kubernetes.io/service-account-token"),
        lambda each: each.update(type="bootstrap.kubernetes.io/token"),
        lambda each: each.update(stringData={"tls.crt": "x"}),
        lambda each: each["metadata"].update(namespace="kube-system"),
        lambda each: each["metadata"].update(name="administrator-token"),
        lambda each: each.update(data={"tls.crt": 7}),
        lambda each: each.update(data="x"),
    ],
)
def test_secrets_are_those_of_the_tenant(change: Change) -> None:
    archive = contents()
    secret = changed(dict(archive.secrets["shop-ca"]), change)
    forged = replace(archive, secrets={**archive.secrets, "shop-ca": secret})
    assert refusal(forged).startswith("This is not an archive that Nagaya has made: ")


def test_a_secret_that_is_none_of_the_tenant_is_refused() -> None:
    assert "Secret proxmox-credentials is none of the tenant's" in refusal(contents(secrets=("proxmox-credentials",)))


def test_what_claims_another_tenant_or_marks_an_object_is_dropped() -> None:
    def claim(content: dict[str, Any]) -> None:
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "x", "controller": True}
        content["metadata"].update(
            uid=OTHER_UID, ownerReferences=[owner], finalizers=["x/y"], annotations={RESTORING: "x", "a": "b"}
        )
        content["spec"]["tenantID"] = OTHER_UID
        content["status"] = {"dataStore": {"name": "other"}}

    planned = plan(contents(control_plane=changed(control_plane(), claim)), Asked(NAMES), found())
    assert planned.refused == ""
    made = planned.control_plane
    assert made is not None
    assert made["metadata"].keys() == {"name", "namespace", "labels", "annotations"}
    assert made["metadata"]["annotations"] == {"a": "b"}
    assert "tenantID" not in made["spec"]
    assert "status" not in made


Member = tuple[tarfile.TarInfo, bytes]


def member(name: str, content: bytes = b"", **changes: Any) -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for each, value in changes.items():
        setattr(info, each, value)
    return info, content


def written(path: Path, *members: Member, format: int = tarfile.USTAR_FORMAT, sums: bool = True) -> Path:
    known = {info.name: hashlib.sha256(content).hexdigest() for info, content in members}
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=format) as tar:
        for info, content in (*members, *([member(form.SUMS, msgspec.json.encode(form.Sums(known)))] if sums else [])):
            tar.addfile(info, io.BytesIO(content))
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))
    return path


def parts(first: form.Head | None = None) -> list[Member]:
    return [
        member(form.HEAD, msgspec.json.encode(first or head())),
        member(form.CLUSTER, msgspec.json.encode(cluster())),
        member(form.CONTROL_PLANE, msgspec.json.encode(control_plane())),
    ]


def data() -> Member:
    return member(form.data_member(1), asyncio.run(copy_of([])))


def problem(path: Path) -> str:
    with pytest.raises(ArchiveError) as refused:
        asyncio.run(read_whole(path))
    return str(refused.value)


def test_the_parts_make_an_archive(tmp_path: Path) -> None:
    archive, found = asyncio.run(read_whole(written(tmp_path / "a", *parts(), data())))
    archive.close()
    assert found.keys == 0


@pytest.mark.parametrize(
    "extra",
    [
        member("/etc/cron.d/x", b"x"),
        member("../../etc/passwd", b"x"),
        member("secrets/../../x.json", b"{}"),
        member("secrets//x.json", b"{}"),
        member("./secrets/x.json", b"{}"),
        member("secrets/x.json", type=tarfile.SYMTYPE, linkname="/etc/shadow"),
        member("secrets/x.json", type=tarfile.LNKTYPE, linkname="archive.json"),
        member("secrets/x.json", type=tarfile.CHRTYPE),
        member("secrets/x.json", type=tarfile.BLKTYPE),
        member("secrets/x.json", type=tarfile.FIFOTYPE),
        member("secrets/x.json", type=tarfile.DIRTYPE),
        member("secrets/x.json", b"{}", type=tarfile.CONTTYPE),
        member("secrets/x.json", b"{}", type=b"7"),
        member("objects/cluster.json", b"{}"),
        member("archive.json", b"{}"),
        member("secrets/x.JSON", b"{}"),
        member("secrets/x\n.json", b"{}"),
    ],
    ids=range(17),
)
def test_members_of_other_names_and_kinds_are_refused(tmp_path: Path, extra: Member) -> None:
    assert "does not belong there" in problem(written(tmp_path / "a", *parts(), extra, data()))


@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT])
def test_extended_headers_are_not_interpreted(tmp_path: Path, format: int) -> None:
    long = member(f"secrets/{'x' * 200}.json", b"{}", pax_headers={"comment": "x" * 100})
    assert "does not belong there" in problem(written(tmp_path / "a", *parts(), long, data(), format=format))


def test_a_secret_twice_or_out_of_order_is_refused(tmp_path: Path) -> None:
    for names in (("a", "a"), ("b", "a")):
        twice = [member(f"secrets/{name}.json", b"{}") for name in names]
        assert "does not belong there" in problem(written(tmp_path / "a", *parts(), *twice, data()))


def test_there_are_not_more_objects_than_a_tenant_has(tmp_path: Path) -> None:
    many = [member(f"secrets/s{number:04}.json", b"{}") for number in range(form.MOST_OBJECTS)]
    assert "does not belong there" in problem(written(tmp_path / "a", *parts(), *many, data()))


def test_an_object_is_not_larger_than_an_api_takes(tmp_path: Path) -> None:
    large = member("secrets/x.json", b'{"a": "' + b"x" * form.LARGEST_OBJECT + b'"}')
    assert "which is not possible" in problem(written(tmp_path / "a", *parts(), large, data()))


def test_a_header_that_claims_a_size_below_zero_or_beyond_the_file_is_refused(tmp_path: Path) -> None:
    packed = bytearray(gzip.decompress(written(tmp_path / "a", *parts(), data()).read_bytes()))
    for size in (b"\xff" * 12, b"\x80" + b"\x7f" * 11, b"77777777777\0", b"00000400000\0"):
        forged = bytearray(packed)
        forged[124:136] = size
        forged[148:156] = b" " * 8
        forged[148:156] = b"%06o\0 " % sum(forged[:512])
        path = tmp_path / "b"
        path.write_bytes(gzip.compress(bytes(forged)))
        assert "damaged" in problem(path)


def test_a_small_file_does_not_unpack_to_a_large_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "FREE", 1 << 20)
    large = asyncio.run(copy_of([Entry(b"a%d" % number, bytes(2 << 20)) for number in range(3)]))
    path = written(tmp_path / "a", *parts(), member(form.data_member(1), large))
    assert "it unpacks to far more than the data of a tenant does" in problem(path)


def test_zeros_after_the_end_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(form, "FREE", 1 << 20)
    path = written(tmp_path / "a", *parts(), data())
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + bytes(8 << 20)))
    assert "it unpacks to far more" in problem(path)


@pytest.mark.parametrize(
    "change",
    [
        {"namespace": "../kube-system"},
        {"cluster": "a\x1b[2J"},
        {"control_plane": "a/b"},
        {"data_store": "A"},
        {"version": "v1\n"},
        {"made": "x" * 300},
        {"driver": "\u202e"},
    ],
)
def test_names_are_such_as_objects_have(tmp_path: Path, change: dict[str, str]) -> None:
    found = problem(written(tmp_path / "a", *parts(head(**change)), data()))
    assert found.endswith("archive.json has a name that no object can have.")


def test_an_object_that_is_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    deep = member("secrets/x.json", b'{"a":' * 100_000 + b"1" + b"}" * 100_000)
    with pytest.raises(ArchiveDamaged, match="cannot be understood"):
        asyncio.run(read_whole(written(tmp_path / "a", *parts(), deep, data())))


class Refusing:
    """A management API that refuses objects of one kind."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.calls: list[tuple[str, bool]] = []

    async def create(self, kind: Kind[Any], content: dict[str, Any], *, dry_run: bool = False) -> Any:
        self.calls.append((kind.kind, dry_run))
        if kind.kind == self.kind:
            raise Invalid(Call("create", kind.plural), 422, {"message": "refused"})
        return None


@pytest.mark.parametrize("kind", ["HostedControlPlane", "Cluster", "Secret"])
def test_nothing_is_created_if_the_api_refuses_one_object(tmp_path: Path, kind: str) -> None:
    planned, present = plan(contents(), Asked(NAMES), found()), found()
    path = written(tmp_path / "a", *parts(), data())
    api = Refusing(kind)

    async def opened(store: DataStore) -> Driver:
        raise AssertionError("the data store is not asked before the API")

    async def restore() -> None:
        archive, read = await read_whole(path)
        restorer = Restorer(
            cast("Client", api),
            archive,
            read,
            World(),
            opened,
            lambda uid: {},
            tell=lambda sentence: None,
            moved=lambda size: None,
        )
        try:
            await restorer.run(planned, present)
        finally:
            archive.close()

    with pytest.raises(ApiError):
        asyncio.run(restore())
    assert api.calls[-1] == (kind, True)
    assert {dry_run for _, dry_run in api.calls} == {True}
