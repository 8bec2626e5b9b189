"""StatefulSets: pods with names and storage of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.builtins.kinds.apps_workload import (
    SPEC,
    TEMPLATE,
    WorkloadStatusStrategy,
    WorkloadStrategy,
    before,
    compiled_selector,
    share,
    validate_always,
    validate_at_most_all,
    validate_counts,
    validate_match,
    validate_share,
)
from nagaya.apiserver.builtins.kinds.kind import Kind
from nagaya.apiserver.builtins.kinds.pod_template import validate_template
from nagaya.apiserver.builtins.kinds.volume_defaults import default_claim_spec
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, forbidden, invalid, not_supported, required
from nagaya.apiserver.meta.object_meta import validate_annotations, validate_labels
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.selectors import label_selector

_RETENTIONS: Final = ("Retain", "Delete")
_EMPTY_STATUS: Final = {"replicas": 0, "availableReplicas": 0}
_POLICIES: Final = ("OrderedReady", "Parallel")
_CHANGEABLE: Final = (
    "replicas",
    "template",
    "updateStrategy",
    "minReadySeconds",
    "ordinals",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
)
_FORBIDDEN_CHANGE: Final = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


class StatefulSetStrategy(WorkloadStrategy):
    """StatefulSets through their main endpoint."""

    spec_struct = "apps/v1.StatefulSetSpec"
    replicas_always_shown = True
    empty_status = _EMPTY_STATUS
    name_check = staticmethod(names.name_is_label)

    def default_spec(self, obj: JsonObject, spec: JsonObject) -> None:
        """One replica, one pod at a time, and storage that outlives them."""
        spec.setdefault("podManagementPolicy", "OrderedReady")
        strategy: JsonObject = spec.setdefault("updateStrategy", {})
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            strategy.setdefault("rollingUpdate", {})
        if strategy["type"] == "RollingUpdate" and strategy.get("rollingUpdate") is not None:
            strategy["rollingUpdate"].setdefault("partition", 0)
        retention: JsonObject = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
        retention.setdefault("whenDeleted", "Retain")
        retention.setdefault("whenScaled", "Retain")
        spec.setdefault("replicas", 1)
        spec.setdefault("revisionHistoryLimit", 10)
        for claim in spec.get("volumeClaimTemplates") or ():
            claim["apiVersion"], claim["kind"] = "v1", "PersistentVolumeClaim"
            default_claim_spec(claim.setdefault("spec", {}))
            claim.setdefault("status", {}).setdefault("phase", "Pending")

    def prepare_create(self, obj: JsonObject, call: Call) -> None:
        """A share of unavailable pods is switched off in this version."""
        super().prepare_create(obj, call)
        _drop_share(obj["spec"], None)

    def prepare_update(self, new: JsonObject, old: JsonObject, call: Call) -> None:
        """The same, unless it was in use."""
        _drop_share(new["spec"], old["spec"])
        super().prepare_update(new, old, call)

    def rules(self, obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
        """The rules for StatefulSets. A template that was broken before may stay so."""
        skip = old is not None and any(_validate(old["spec"], old, check_template=True))
        return list(_validate(obj["spec"], old, check_template=not skip))

    def changes(self, new: JsonObject, old: JsonObject) -> list[FieldError]:
        """Only a few fields may change."""
        from nagaya.apiserver.builtins.kinds.pod_sameness import same

        rest = [{k: v for k, v in each["spec"].items() if k not in _CHANGEABLE} for each in (new, old)]
        return [] if same(self.spec_struct, *rest) else [forbidden(SPEC, _FORBIDDEN_CHANGE)]

    def warn_create(self, obj: JsonObject, call: Call) -> list[str]:
        """What is likely a mistake."""
        return [*super().warn_create(obj, call), *_warnings(obj["spec"], "")]

    def warn_update(self, new: JsonObject, old: JsonObject, call: Call) -> list[str]:
        """The same, in a change."""
        return [*super().warn_update(new, old, call), *_warnings(new["spec"], "Spec")]


def _drop_share(spec: JsonObject, old: JsonObject | None) -> None:
    before_ = ((old or {}).get("updateStrategy") or {}).get("rollingUpdate") or {}
    rolling = (spec.get("updateStrategy") or {}).get("rollingUpdate")
    if rolling is not None and "maxUnavailable" not in before_:
        rolling.pop("maxUnavailable", None)


def _warnings(spec: JsonObject, inner: str) -> Iterator[str]:
    from nagaya.apiserver.builtins.kinds.pod_warnings import claim_warnings

    for position, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
        where = SPEC.child("volumeClaimTemplates").index(position)
        yield from claim_warnings(claim.get("spec") or {}, where.child(inner) if inner else where)
    if (spec.get("revisionHistoryLimit") or 0) < 0:
        advice = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield f"spec.revisionHistoryLimit: {advice}"


def _validate(spec: JsonObject, old: JsonObject | None, *, check_template: bool) -> Iterator[FieldError]:
    policy = spec.get("podManagementPolicy") or ""
    if not policy:
        yield required(SPEC.child("podManagementPolicy"))
    elif policy not in _POLICIES:
        yield invalid(SPEC.child("podManagementPolicy"), policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _validate_strategy(spec.get("updateStrategy") or {}, SPEC.child("updateStrategy"))
    retention = spec.get("persistentVolumeClaimRetentionPolicy")
    for field in ("whenDeleted", "whenScaled") if retention is not None else ():
        value = (retention or {}).get(field) or ""
        if value not in _RETENTIONS:
            yield not_supported(SPEC.child("persistentVolumeClaimRetentionPolicy", field), value, _RETENTIONS)
    if old is None:
        from nagaya.apiserver.builtins.kinds.volume_claim import validate_spec

        for position, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            where = SPEC.child("volumeClaimTemplates").index(position).child("spec")
            yield from validate_spec(claim.get("spec") or {}, where)
    yield from validate_counts(spec, ("replicas", "minReadySeconds"), SPEC)
    yield from validate_counts(spec.get("ordinals") or {}, ("start",), SPEC.child("ordinals"))
    if old is None and (service := spec.get("serviceName")):
        yield from (invalid(SPEC.child("serviceName"), service, problem) for problem in names.dns_label(service))
    yield from _validate_pods(spec, old, check_template)


def _validate_pods(spec: JsonObject, old: JsonObject | None, check_template: bool) -> Iterator[FieldError]:
    from nagaya.apiserver.builtins.kinds import pod_annotations
    from nagaya.apiserver.builtins.kinds.pod_rules import NEW_TEMPLATE, rules_after

    selector, where = spec.get("selector"), SPEC.child("selector")
    if selector is None:
        yield required(where)
    else:
        yield from label_selector.validate(selector, where)
        if not selector.get("matchLabels") and not selector.get("matchExpressions"):
            yield invalid(where, selector, "empty selector is invalid for statefulset")
    compiled = compiled_selector(spec)
    template = spec.get("template") or {}
    if compiled is None:
        yield invalid(where, selector, "")
    else:
        yield from validate_match(compiled, template)
        whole = {**template, "spec": _with_claims(template.get("spec") or {}, spec)}
        if check_template:
            yield from validate_template(whole, before(old), TEMPLATE)
        metadata, known = template.get("metadata") or {}, before(old)
        rules = NEW_TEMPLATE
        if known is not None:
            rules = rules_after(known.get("spec") or {}, known.get("metadata") or {}, for_pod=False)
        yield from validate_labels(metadata.get("labels") or {}, TEMPLATE.child("labels"))
        annotations = TEMPLATE.child("annotations")
        yield from validate_annotations(metadata.get("annotations") or {}, annotations)
        yield from pod_annotations.validate_annotations(metadata, whole["spec"], annotations, rules)
    yield from validate_always(template, "StatefulSet")


def _with_claims(pod: JsonObject, spec: JsonObject) -> JsonObject:
    """The pod spec as the controller will make it: with the storage of its own, and a host name by its number."""
    claims = {
        name: {"name": name, "persistentVolumeClaim": {"claimName": name}}
        for claim in spec.get("volumeClaimTemplates") or ()
        for name in [(claim.get("metadata") or {}).get("name") or ""]
    }
    own = {field: value for field, value in pod.items() if field not in ("hostname", "subdomain")}
    if claims:
        rest = [volume for volume in pod.get("volumes") or () if volume.get("name") not in claims]
        own["volumes"] = [*claims.values(), *rest]
    return own


def _validate_strategy(strategy: JsonObject, path: Path) -> Iterator[FieldError]:
    from nagaya.apiserver.builtins.kinds.core_goshape import invalid_shape, shape

    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    fields = "Partition=partition:i MaxUnavailable=maxUnavailable:p"
    if not kind:
        yield required(path)
    elif kind == "OnDelete":
        if rolling is not None:
            detail = "only allowed for updateStrategy 'RollingUpdate'"
            yield invalid_shape(path.child("rollingUpdate"), shape(fields), rolling, detail)
    elif kind == "RollingUpdate":
        if rolling is not None:
            yield from _validate_rolling(rolling, path.child("rollingUpdate"))
    else:
        whole = shape(f"Type=type:s RollingUpdate=rollingUpdate:*{{{fields}}}")
        yield invalid_shape(path, whole, strategy, "must be 'RollingUpdate' or 'OnDelete'")


def _validate_rolling(rolling: JsonObject, path: Path) -> Iterator[FieldError]:
    yield from validate_counts(rolling, ("partition",), path)
    unavailable, where = rolling.get("maxUnavailable"), path.child("maxUnavailable")
    if unavailable is not None:
        yield from validate_share(unavailable, where)
        if share(unavailable) == 0:
            yield invalid(where, unavailable, "cannot be 0")
        yield from validate_at_most_all(unavailable, where)


_COUNTED: Final = (
    "replicas",
    "readyReplicas",
    "currentReplicas",
    "updatedReplicas",
    "availableReplicas",
    "observedGeneration",
    "collisionCount",
)
_WITHIN: Final = (
    ("readyReplicas", "replicas", "status.replicas"),
    ("currentReplicas", "replicas", "status.replicas"),
    ("updatedReplicas", "replicas", "status.replicas"),
    ("availableReplicas", "replicas", "status.replicas"),
    ("availableReplicas", "readyReplicas", "status.readyReplicas"),
)


def stateful_sets() -> Kind:
    """StatefulSets and their status."""
    main = StatefulSetStrategy()
    return Kind(main, {"status": WorkloadStatusStrategy(main, _COUNTED, _WITHIN)})
