"""Where a persistent volume comes from: the rules for each of the many kinds of storage."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, not_supported, required, too_long
from nagaya.apiserver.meta.status import JsonObject

Check = Callable[[JsonObject, Path, str], list[FieldError]]
"""Takes the source, its place, and the volume's name."""

_HOST_PATH_TYPES: Final = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_CACHING_MODES: Final = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS: Final = ("Dedicated", "Managed", "Shared")
_MANAGED_URI: Final = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_URI: Final = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_PAIRS: Final = "must be a host:port pair or multiple pairs separated by commas"
_is_host_port = re.compile(r"(?:\[[^\[\]]*\]|[^:\[\]]*):[^:\[\]]*").fullmatch
_ISCSI_FORMS: Final = {
    "iqn": re.compile(r"iqn\.[0-9]{4}-[0-9]{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$", re.ASCII).search,
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}").fullmatch,
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}").fullmatch,
}


def _need(source: JsonObject, where: Path, *members: str) -> list[FieldError]:
    return [required(where.child(each)) for each in members if not source.get(each)]


def _needs(*members: str) -> Check:
    return lambda source, where, _: _need(source, where, *members)


def _no_backsteps(path: str, where: Path) -> list[FieldError]:
    return [invalid(where, path, "must not contain '..'")] if ".." in path.split("/") else []


def _host_path(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    path: str = source.get("path") or ""
    if not path:
        return [required(where.child("path"))]
    errors = _no_backsteps(path, where.child("path"))
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        errors.append(not_supported(where.child("type"), kind, _HOST_PATH_TYPES))
    return errors


def _local(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    path: str = source.get("path") or ""
    return _no_backsteps(path, where.child("path")) if path else [required(where.child("path"))]


def _disk(member: str) -> Check:
    def check(source: JsonObject, where: Path, _: str) -> list[FieldError]:
        errors = _need(source, where, member)
        partition = source.get("partition") or 0
        if not 0 <= partition <= 255:
            errors.append(invalid(where.child("partition"), partition, names.out_of_range(1, 255)))
        return errors

    return check


def _glusterfs(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    errors = _need(source, where, "endpoints", "path")
    namespace = source.get("endpointsNamespace")
    place = where.child("endpointsNamespace")
    if namespace == "":
        errors.append(invalid(place, "", "if the endpointnamespace is set, it must be a valid namespace name"))
    elif namespace is not None:
        errors += [invalid(place, namespace, problem) for problem in names.name_is_label(namespace)]
    return errors


def _flocker(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    name, uid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    errors: list[FieldError] = []
    if not name and not uid:
        errors.append(required(where, "one of datasetName and datasetUUID is required"))
    if name and uid:
        errors.append(invalid(where, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    if "/" in name:
        errors.append(invalid(where.child("datasetName"), name, "must not contain '/'"))
    return errors


def _nfs(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    errors = _need(source, where, "server", "path")
    path: str = source.get("path") or ""
    if not path.startswith("/"):
        errors.append(invalid(where.child("path"), path, "must be an absolute path"))
    return errors


def _quobyte(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    registry: str = source.get("registry") or ""
    errors: list[FieldError] = []
    if not registry:
        errors.append(required(where.child("registry"), _PAIRS))
    elif names.size(source.get("tenant") or "") >= 65:
        detail = "must be a UUID and may not exceed a length of 64 characters"
        errors.append(required(where.child("tenant"), detail))
    else:
        wrong = sum(not _is_host_port(pair) for pair in registry.split(","))
        errors += [invalid(where.child("registry"), registry, _PAIRS)] * wrong
    return errors + _need(source, where, "volume")


def _secret(source: JsonObject, where: Path, *members: str) -> list[FieldError]:
    reference = source.get("secretRef")
    return [] if reference is None else _need(reference, where.child("secretRef"), *members)


def _iscsi(source: JsonObject, where: Path, volume: str) -> list[FieldError]:
    portal, name = source.get("targetPortal") or "", source.get("iqn") or ""
    initiator = source.get("initiatorName")
    errors = _need(source, where, "targetPortal")
    if initiator is not None and names.size(f"{volume}:{portal}") > 64:
        detail = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified."
        )
        errors.append(invalid(where.child("targetportal"), portal, detail))
    if not name:
        errors.append(required(where.child("iqn")))
    else:
        errors += _iscsi_name_errors(name, where.child("iqn"))
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        errors.append(invalid(where.child("lun"), lun, names.out_of_range(0, 255)))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        errors.append(required(where.child("secretRef")))
    errors += _secret(source, where, "name")
    return errors + (_iscsi_name_errors(initiator, where.child("initiatorname")) if initiator is not None else [])


def _iscsi_name_errors(name: str, where: Path) -> list[FieldError]:
    form = _ISCSI_FORMS.get(name[:3])
    return [] if form is not None and form(name) else [invalid(where, name, "must be valid format")]


def _cinder(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    return _need(source, where, "volumeID") + _secret(source, where, "name", "namespace")


def _fibre_channel(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    targets, ids, lun = source.get("targetWWNs") or [], source.get("wwids") or [], source.get("lun")
    place = where.child("targetWWNs")
    errors: list[FieldError] = []
    if not targets and not ids:
        errors.append(required(place, "must specify either targetWWNs or wwids, but not both"))
    if targets and ids:
        errors.append(invalid(place, targets, "targetWWNs and wwids can not be specified simultaneously"))
    if not targets:
        return errors
    if lun is None:
        return [*errors, required(where.child("lun"), "lun is required if targetWWNs is specified")]
    return errors + [invalid(where.child("lun"), lun, problem) for problem in names.in_range(lun, 0, 255)]


def _flex(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    errors = _need(source, where, "driver")
    for key in source.get("options") or ():
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(where.child("options").key(key), key, detail))
    return errors


def _azure_file(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    errors = _need(source, where, "secretName", "shareName")
    return [*errors, required(where.child("secretNamespace"))] if source.get("secretNamespace") == "" else errors


def _azure_disk(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    errors = _need(source, where, "diskName", "diskURI")
    uri: str = source.get("diskURI") or ""
    mode, kind = source.get("cachingMode"), source.get("kind")
    if mode is not None and mode not in _CACHING_MODES:
        errors.append(not_supported(where.child("cachingMode"), mode, _CACHING_MODES))
    if kind is not None and kind not in _DISK_KINDS:
        errors.append(not_supported(where.child("kind"), kind, _DISK_KINDS))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        errors.append(not_supported(where.child("diskURI"), uri, (_MANAGED_URI,)))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        errors.append(not_supported(where.child("diskURI"), uri, (_BLOB_URI,)))
    return errors


def _storage_os(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    errors = _need(source, where, "volumeName")
    for member in ("volumeName", "volumeNamespace"):
        if text := source.get(member):
            errors += [invalid(where.child(member), text, problem) for problem in names.dns_label(text)]
    return errors + _secret(source, where, "name", "namespace")


def driver_name_errors(name: str, where: Path) -> list[FieldError]:
    """The name of a storage driver is a domain, of the length of a label."""
    if not name:
        return [required(where)]
    errors = [too_long(where, 63)] if names.size(name) > 63 else []
    return errors + [invalid(where, name, problem) for problem in names.dns_subdomain(name.lower())]


def _csi(source: JsonObject, where: Path, _: str) -> list[FieldError]:
    errors = driver_name_errors(source.get("driver") or "", where.child("driver"))
    errors += _need(source, where, "volumeHandle")
    for role in ("controllerPublish", "controllerExpand", "nodePublish", "nodeExpand"):
        if (reference := source.get(f"{role}SecretRef")) is not None:
            errors += _secret_reference_errors(reference, where.child(f"{role}SecretRef"))
    return errors


def _secret_reference_errors(reference: JsonObject, where: Path) -> list[FieldError]:
    errors: list[FieldError] = []
    for member, check in (("name", names.dns_subdomain), ("namespace", names.dns_label)):
        text = reference.get(member) or ""
        if not text:
            errors.append(required(where.child(member)))
        errors += [invalid(where.child(member), text, problem) for problem in (check(text) if text else ())]
    return errors


class Source(NamedTuple):
    """A kind of storage: how messages name it when it is one too many, how when it is wrong, and its rules."""

    surplus: str
    place: str
    check: Check


def _plain(name: str, check: Check) -> tuple[str, Source]:
    return name, Source(name, name, check)


SOURCES: Final[Mapping[str, Source]] = dict(
    [
        _plain("hostPath", _host_path),
        ("gcePersistentDisk", Source("gcePersistentDisk", "persistentDisk", _disk("pdName"))),
        _plain("awsElasticBlockStore", _disk("volumeID")),
        _plain("glusterfs", _glusterfs),
        _plain("flocker", _flocker),
        _plain("nfs", _nfs),
        _plain("rbd", _needs("monitors", "image")),
        _plain("quobyte", _quobyte),
        ("cephfs", Source("cephFS", "cephfs", _needs("monitors"))),
        _plain("iscsi", _iscsi),
        _plain("cinder", _cinder),
        _plain("fc", _fibre_channel),
        _plain("flexVolume", _flex),
        _plain("azureFile", _azure_file),
        _plain("vsphereVolume", _needs("volumePath")),
        _plain("photonPersistentDisk", _needs("pdID")),
        _plain("portworxVolume", _needs("volumeID")),
        _plain("azureDisk", _azure_disk),
        _plain("scaleIO", _needs("gateway", "system", "volumeName")),
        _plain("local", _local),
        _plain("storageos", _storage_os),
        _plain("csi", _csi),
    ]
)
"""All kinds of storage, in the order in which they are checked."""
