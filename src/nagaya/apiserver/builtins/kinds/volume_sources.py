"""What each source of a volume demands, one check per source, in the order in which a volume is looked through."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from nagaya.apiserver.builtins.kinds import volume_claim, volume_projected
from nagaya.apiserver.builtins.kinds.pod_rules import Rules
from nagaya.apiserver.builtins.kinds.volume_files import validate_files, validate_keys, validate_mode
from nagaya.apiserver.builtins.kinds.volume_paths import validate_descending, validate_no_backsteps
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from nagaya.apiserver.meta.quantity import parse
from nagaya.apiserver.meta.status import JsonObject

Check = Callable[[JsonObject, Path, Rules], Iterator[FieldError]]

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
_ISCSI_NAMES: Final = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9\-.]+)(:[^,;*&$|\s]+)$", re.ASCII).search,
    "eui": re.compile("^eui.[A-Za-z0-9]{16}$").search,
    "naa": re.compile("^naa.[A-Za-z0-9]{32}$").search,
}
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")


def validate_pull_policy(policy: str, path: Path) -> Iterator[FieldError]:
    """When an image is pulled."""
    if not policy:
        yield required(path)
    elif policy not in _PULL_POLICIES:
        yield not_supported(path, policy, _PULL_POLICIES)


def _needs(*fields: str) -> Check:
    """A source with fields that must not be empty, and no other rule."""

    def check(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
        yield from (required(path.child(field)) for field in fields if not source.get(field))

    return check


def _with_secret(*fields: str) -> Check:
    """The same for a source that may refer to a secret, by name."""

    def check(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
        yield from (required(path.child(field)) for field in fields if not source.get(field))
        secret = source.get("secretRef")
        if secret is not None and not secret.get("name"):
            yield required(path.child("secretRef", "name"))

    return check


def _disk(field: str) -> Check:
    def check(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
        if not source.get(field):
            yield required(path.child(field))
        partition = source.get("partition") or 0
        if not 0 <= partition <= 255:
            yield invalid(path.child("partition"), partition, names.out_of_range(1, 255))

    return check


def _empty_dir(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    limit = source.get("sizeLimit")
    if limit is not None and parse(limit).sign < 0:
        yield forbidden(path.child("sizeLimit"), "SizeLimit field must be a valid resource quantity")


def _host_path(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    if not source.get("path"):
        yield required(path.child("path"))
        return
    yield from validate_no_backsteps(source["path"], path.child("path"))
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        yield not_supported(path.child("type"), kind, _HOST_PATH_TYPES)


def _git(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    if not source.get("repository"):
        yield required(path.child("repository"))
    yield from validate_descending(source.get("directory") or "", path.child("directory"))


def _secret(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    if not source.get("secretName"):
        yield required(path.child("secretName"))
    yield from _files_of(source, path)


def _config_map(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    if not source.get("name"):
        yield required(path.child("name"))
    yield from _files_of(source, path)


def _files_of(source: JsonObject, path: Path) -> Iterator[FieldError]:
    yield from validate_mode(source.get("defaultMode"), path.child("defaultMode"))
    yield from validate_keys(source.get("items") or (), path.child("items"))


def _downward(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    yield from validate_mode(source.get("defaultMode"), path.child("defaultMode"))
    yield from validate_files(source.get("items") or (), path)


def _nfs(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    if not source.get("server"):
        yield required(path.child("server"))
    file = source.get("path") or ""
    if not file:
        yield required(path.child("path"))
    if not file.startswith("/"):
        yield invalid(path.child("path"), file, "must be an absolute path")


def _iscsi(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    if not source.get("targetPortal"):
        yield required(path.child("targetPortal"))
    if not source.get("iqn"):
        yield required(path.child("iqn"))
    else:
        yield from _iscsi_name(source["iqn"], path.child("iqn"))
    lun = source.get("lun") or 0
    if not 0 <= lun <= 255:
        yield invalid(path.child("lun"), lun, names.out_of_range(0, 255))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        yield required(path.child("secretRef"))
    if (initiator := source.get("initiatorName")) is not None:
        yield from _iscsi_name(initiator, path.child("initiatorname"))


def _iscsi_name(name: str, path: Path) -> Iterator[FieldError]:
    form = _ISCSI_NAMES.get(name[:3])
    if form is None:
        yield invalid(path, name, "must be valid format starting with iqn, eui, or naa")
    elif not form(name):
        yield invalid(path, name, "must be valid format")


def _flocker(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID") or ""
    if not name and not uuid:
        yield required(path, "one of datasetName and datasetUUID is required")
    if name and uuid:
        yield invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously")
    if "/" in name:
        yield invalid(path.child("datasetName"), name, "must not contain '/'")


def _quobyte(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    pairs = "must be a host:port pair or multiple pairs separated by commas"
    registry = source.get("registry") or ""
    if not registry:
        yield required(path.child("registry"), pairs)
    elif names.size(source.get("tenant") or "") >= 65:
        yield required(path.child("tenant"), "must be a UUID and may not exceed a length of 64 characters")
    else:
        for pair in registry.split(","):
            if not re.fullmatch(r"(?:[^:\[\]]*|\[[^\[\]]*\]):[^:\[\]]*", pair):
                yield invalid(path.child("registry"), registry, pairs)
    if not source.get("volume"):
        yield required(path.child("volume"))


def _fibre_channel(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    targets, ids = source.get("targetWWNs"), source.get("wwids")
    where = path.child("targetWWNs")
    if not targets and not ids:
        yield required(where, "must specify either targetWWNs or wwids, but not both")
    if targets and ids:
        yield invalid(where, targets, "targetWWNs and wwids can not be specified simultaneously")
    if targets:
        lun = source.get("lun")
        if lun is None:
            yield required(path.child("lun"), "lun is required if targetWWNs is specified")
        elif not 0 <= lun <= 255:
            yield invalid(path.child("lun"), lun, names.out_of_range(0, 255))


def _flex(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    if not source.get("driver"):
        yield required(path.child("driver"))
    for key in source.get("options") or {}:
        domain = f".{key.partition('/')[0].lower()}"
        if domain.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            yield invalid(path.child("options").key(key), key, detail)


def _azure_disk(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    uri, kind, caching = source.get("diskURI") or "", source.get("kind"), source.get("cachingMode")
    if not source.get("diskName"):
        yield required(path.child("diskName"))
    if not uri:
        yield required(path.child("diskURI"))
    if caching not in (None, "None", "ReadOnly", "ReadWrite"):
        yield not_supported(path.child("cachingMode"), caching, ("None", "ReadOnly", "ReadWrite"))
    if kind not in (None, "Dedicated", "Managed", "Shared"):
        yield not_supported(path.child("kind"), kind, ("Dedicated", "Managed", "Shared"))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        form = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
        yield not_supported(path.child("diskURI"), uri, (form,))
    if kind not in (None, "Managed") and not uri.startswith("https://"):
        form = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
        yield not_supported(path.child("diskURI"), uri, (form,))


def _storage_os(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    if not source.get("volumeName"):
        yield required(path.child("volumeName"))
    for field in ("volumeName", "volumeNamespace"):
        if name := source.get(field):
            yield from (invalid(path.child(field), name, problem) for problem in names.dns_label(name))
    secret = source.get("secretRef")
    if secret is not None and not secret.get("name"):
        yield required(path.child("secretRef", "name"))


def _csi(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    driver = source.get("driver") or ""
    if not driver:
        yield required(path.child("driver"))
    else:
        if names.size(driver) > 63:
            yield too_long(path.child("driver"), 63)
        yield from (invalid(path.child("driver"), driver, each) for each in names.dns_subdomain(driver.lower()))
    if (secret := source.get("nodePublishSecretRef")) is not None:
        name = secret.get("name") or ""
        if not name:
            yield required(path.child("nodePublishSecretRef", "name"))
        else:
            yield from (invalid(path.child("name"), name, each) for each in names.name_is_subdomain(name))


def _ephemeral(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    template = source.get("volumeClaimTemplate")
    where = path.child("volumeClaimTemplate")
    if template is None:
        yield required(where)
    else:
        yield from volume_claim.validate_template(template, where)


def _image(source: JsonObject, path: Path, rules: Rules) -> Iterator[FieldError]:
    if rules.for_pod and not source.get("reference"):
        yield required(path.child("reference"))
    yield from validate_pull_policy(source.get("pullPolicy") or "", path.child("pullPolicy"))


CHECKS: Final[Mapping[str, Check]] = {
    "emptyDir": _empty_dir,
    "hostPath": _host_path,
    "gitRepo": _git,
    "gcePersistentDisk": _disk("pdName"),
    "awsElasticBlockStore": _disk("volumeID"),
    "secret": _secret,
    "nfs": _nfs,
    "iscsi": _iscsi,
    "glusterfs": _needs("endpoints", "path"),
    "flocker": _flocker,
    "persistentVolumeClaim": _needs("claimName"),
    "rbd": _needs("monitors", "image"),
    "cinder": _with_secret("volumeID"),
    "cephfs": _needs("monitors"),
    "quobyte": _quobyte,
    "downwardAPI": _downward,
    "fc": _fibre_channel,
    "flexVolume": _flex,
    "configMap": _config_map,
    "azureFile": _needs("secretName", "shareName"),
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _azure_disk,
    "storageos": _storage_os,
    "projected": volume_projected.validate_projected,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "csi": _csi,
    "ephemeral": _ephemeral,
    "image": _image,
}
