"""The rules for nodes. Taints are said to be in `metadata`, as the real server says."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from nagaya.apiserver.builtins.kinds import core_resources
from nagaya.apiserver.builtins.kinds.core_goshape import duplicate_shape, invalid_shape, shape
from nagaya.apiserver.meta import addresses, gostring, jsontext, names
from nagaya.apiserver.meta.decode_error import DecodeError
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    internal,
    invalid,
    not_supported,
    required,
)
from nagaya.apiserver.meta.object_meta import METADATA
from nagaya.apiserver.meta.status import JsonObject

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TAINT: Final = shape("Key=key:s Value=value:s Effect=effect:s TimeAdded=timeAdded:p")
_ADDRESS: Final = shape("Type=type:s Address=address:s")
_CONFIG_SOURCE: Final = shape(
    "ConfigMap=configMap:*{Namespace=namespace:s Name=name:s UID=uid:s ResourceVersion=resourceVersion:s"
    " KubeletConfigKey=kubeletConfigKey:s}"
)
_TAINTS_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/taints"
_AVOID_ANNOTATION: Final = "scheduler.alpha.kubernetes.io/preferAvoidPods"
_NETWORKS: Final = Path("spec.podCIDRs")
_FEATURES: Final = Path("status.declaredFeatures")
_is_feature = re.compile("[A-Z][a-zA-Z0-9]*(/[a-zA-Z][a-zA-Z0-9]*)*").fullmatch


def rules(node: JsonObject) -> list[FieldError]:
    """What is wrong with a node."""
    spec, status = node["spec"], node["status"]
    errors = _annotation_errors(node["metadata"])
    errors += taint_errors(spec.get("taints") or (), METADATA.child("taints"))
    errors += _amount_errors(status)
    swap = ((status.get("nodeInfo") or {}).get("swap") or {}).get("capacity")
    if swap is not None and swap <= 0:
        errors.append(invalid(METADATA.child("nodeSwapStatus", "capacity"), swap, core_resources.NOT_POSITIVE))
    errors += _feature_errors(status)
    return errors + _network_errors(spec.get("podCIDRs") or [])


def changes(new: JsonObject, old: JsonObject) -> list[FieldError]:
    """What a change must not do."""
    spec, before, status = new["spec"], old["spec"], new["status"]
    errors = _annotation_errors(new["metadata"]) + _amount_errors(status) + _feature_errors(status)
    errors += _address_errors(status.get("addresses") or ())
    networks, known = spec.get("podCIDRs") or [], before.get("podCIDRs") or []
    if known and networks != known:
        detail = 'node updates may not change podCIDR except from "" to valid'
        differing = sum(mine != theirs for mine, theirs in zip(networks, known, strict=False))
        errors += [forbidden(_NETWORKS, detail)] * (differing if len(networks) == len(known) else 1)
    if before.get("providerID") and spec.get("providerID") != before["providerID"]:
        errors.append(forbidden("spec.providerID", 'node updates may not change providerID except from "" to valid'))
    if (source := spec.get("configSource")) is not None:
        errors += _config_errors(source, Path("spec.configSource"), in_spec=True)
    for name in ("assigned", "active", "lastKnownGood"):
        if (source := (status.get("config") or {}).get(name)) is not None:
            errors += _config_errors(source, Path("status.config").child(name), in_spec=False)
    errors += taint_errors(spec.get("taints") or (), METADATA.child("taints"))
    if (spec.get("externalID") or "") != (before.get("externalID") or ""):
        errors.append(forbidden("spec.externalID", "may not be updated"))
    return errors


def taint_errors(taints: Sequence[JsonObject], where: Path) -> list[FieldError]:
    """Taints are labels with an effect; a key has each effect once."""
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for position, taint in enumerate(taints):
        place = where.index(position)
        key, value, effect = (taint.get(each) or "" for each in ("key", "value", "effect"))
        errors += [invalid(place.child("key"), key, problem) for problem in names.qualified_name(key)]
        if problems := names.label_value(value):
            errors.append(invalid(place.child("value"), value, ";".join(problems)))
        if not effect:
            errors.append(required(place.child("effect")))
        elif effect not in _EFFECTS:
            errors.append(not_supported(place.child("effect"), effect, _EFFECTS))
        if (key, effect) in seen:
            errors.append(duplicate_shape(place, _TAINT, taint, "taints must be unique by key and effect pair"))
        seen.add((key, effect))
    return errors


def _amount_errors(status: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    for member in ("capacity", "allocatable"):
        for name, text in (status.get(member) or {}).items():
            errors += core_resources.validate_amount(name, text, Path("status").child(member, name))
    return errors


def _feature_errors(status: JsonObject) -> list[FieldError]:
    errors: list[FieldError] = []
    features: list[str] = status.get("declaredFeatures") or []
    for position, feature in enumerate(features):
        if problem := _feature_problem(feature):
            errors.append(invalid(_FEATURES.index(position), feature, problem))
        if position + 1 < len(features):
            after = features[position + 1]
            if feature == after:
                errors.append(duplicate(_FEATURES.index(position + 1), after))
            elif feature > after:
                errors.append(invalid(_FEATURES.index(position + 1), after, "list must be sorted alphabetically"))
    return errors


def _feature_problem(feature: str) -> str:
    about = f"invalid feature name {gostring.quote(feature)}: "
    if names.size(feature) > 253:
        return about + "must be no more than 253 characters"
    if _is_feature(feature):
        return ""
    return about + (
        "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
        "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
    )


def _network_errors(networks: list[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    for position, network in enumerate(networks):
        errors += addresses.validate_legacy_network(_NETWORKS.index(position), network)
    if len(networks) < 2:
        return errors
    parsed = [addresses.parse_network(each) for each in networks]
    if None in parsed:
        problem = f"invalid CIDR[{parsed.index(None)}]: <nil> (invalid CIDR address: {networks[parsed.index(None)]})"
        errors.append(internal(_NETWORKS, f"invalid PodCIDRs. failed to check with dual stack with error:{problem}"))
    families = {each[0].version for each in parsed if each is not None}
    if None in parsed or len(families) < 2 or len(networks) > 2:
        errors.append(invalid(_NETWORKS, networks, "may specify no more than one CIDR for each IP family"))
    return errors


def _address_errors(found: Sequence[JsonObject]) -> list[FieldError]:
    errors = []
    seen = set()
    for position, address in enumerate(found):
        key = (address.get("type"), address.get("address"))
        if key in seen:
            errors.append(duplicate_shape(Path("status.addresses").index(position), _ADDRESS, address))
        seen.add(key)
    return errors


def _config_errors(source: JsonObject, where: Path, *, in_spec: bool) -> list[FieldError]:
    """The remains of kubelet configuration through the API, kept for nodes that still have it."""
    config = source.get("configMap")
    if config is None:
        return [invalid_shape(where, _CONFIG_SOURCE, source, "exactly one reference subfield must be non-nil")]
    where = where.child("configMap")
    errors: list[FieldError] = []
    for member in ("uid", "resourceVersion"):
        given = bool(config.get(member))
        if given and in_spec:
            errors.append(forbidden(where.child(member), f"{member} must not be set in spec"))
        elif not given and not in_spec:
            errors.append(required(where.child(member)))
    checks: Mapping[str, Callable[[str], list[str]]] = {
        "namespace": names.name_is_label,
        "name": names.name_is_subdomain,
        "kubeletConfigKey": names.config_key,
    }
    for member, check in checks.items():
        text = config.get(member) or ""
        if not text:
            errors.append(required(where.child(member)))
        else:
            errors += [invalid(where.child(member), text, problem) for problem in check(text)]
    return errors


def _annotation_errors(metadata: JsonObject) -> list[FieldError]:
    annotations = metadata.get("annotations")
    if not annotations:
        return []
    where = METADATA.child("annotations")
    errors: list[FieldError] = []
    if text := annotations.get(_TAINTS_ANNOTATION):
        try:
            taints = _parsed(text, list)
        except DecodeError as error:
            errors.append(invalid(where, _TAINTS_ANNOTATION, str(error)))
        else:
            errors += taint_errors(taints or (), where.child(_TAINTS_ANNOTATION))
    if text := annotations.get(_AVOID_ANNOTATION):
        errors += _avoid_errors(text, where)
    return errors


def _parsed(text: str, due: type) -> Any:
    value, _ = jsontext.parse(text.encode("utf-8", "surrogatepass"))
    if value is not None and value.__class__ is not due:
        words = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}
        type_name = "[]core.Taint" if due is list else "v1.AvoidPods"
        raise DecodeError(f"json: cannot unmarshal {words[value.__class__]} into Go value of type {type_name}")
    return value


def _avoid_errors(text: str, where: Path) -> Iterator[FieldError]:
    try:
        avoids = _parsed(text, dict) or {}
    except DecodeError as error:
        yield invalid(where.child("AvoidPods"), _AVOID_ANNOTATION, str(error))
        return
    for position, entry in enumerate(avoids.get("preferAvoidPods") or ()):
        place = where.child(_AVOID_ANNOTATION).index(position).child("PodSignature")
        controller = (entry.get("podSignature") or {}).get("podController")
        if controller is None:
            yield required(place)
        elif not controller.get("controller"):
            yield invalid(place.child("PodController", "Controller"), False, "must point to a controller")
