"""Checks of what machines are made from, shared by Machine and by everything that has a template of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from nagaya.api.admission.content import Content, at, items, mapping, text
from nagaya.api.admission.field_error import FieldError, forbidden, invalid, required
from nagaya.api.admission.golang import NotANumber, parse_int, quote
from nagaya.api.admission.names import dns_subdomain, label_key
from nagaya.api.admission.selector import InvalidSelector, Selector, as_printed, parse
from nagaya.api.cluster import annotations as annotation
from nagaya.api.cluster.machine_set import PREFLIGHT_CHECKS
from nagaya.api.cluster.name_template import RANDOM_ALPHABET, RANDOM_LENGTH, TemplateError, generate_name
from nagaya.api.cluster.taint import NODE_OUTDATED_REVISION, NODE_UNINITIALIZED

_OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
_CONTROL_PLANE_TAINT: Final = "node-role.kubernetes.io/control-plane"


def check_bootstrap(spec: Content, field: str) -> Iterator[FieldError]:
    """Something must say what the machine boots with."""
    if not mapping(spec, "bootstrap", "configRef") and at(spec, "bootstrap", "dataSecretName") is None:
        yield required(
            f"{field}.bootstrap",
            f"expected either {field}.bootstrap.dataSecretName or {field}.bootstrap.configRef to be populated",
        )


def check_same_cluster(new: Content, old: Content | None) -> Iterator[FieldError]:
    """Nothing moves to another cluster."""
    if old is not None and text(old, "spec", "clusterName") != text(new, "spec", "clusterName"):
        yield forbidden("spec.clusterName", "field is immutable")


def check_template_cluster(new: Content) -> Iterator[FieldError]:
    """Machines belong to the cluster of what makes them."""
    name = text(new, "spec", "clusterName")
    if name != text(new, "spec", "template", "spec", "clusterName"):
        yield invalid(
            "spec.clusterName",
            name,
            "spec.clusterName and spec.template.spec.clusterName must be set to the same value",
        )


def check_taints(spec: Content, field: str, *, workers: bool = False) -> Iterator[FieldError]:
    """Taints that Kubernetes or Cluster API manage themselves are not for users."""
    for index, taint in enumerate(items(spec, "taints")):
        key = text(taint, "key")
        place = f"{field}[{index}].key"
        if problem := _taint_problem(key):
            yield invalid(place, key, problem)
        yield from (invalid(place, key, problem) for problem in label_key(key))
    for index, taint in enumerate(items(spec, "taints") if workers else ()):
        if text(taint, "key") == _CONTROL_PLANE_TAINT:
            yield invalid(f"{field}[{index}].key", _CONTROL_PLANE_TAINT, "taint is not allowed for worker Machines")


def _taint_problem(key: str) -> str:
    if key in (NODE_UNINITIALIZED, NODE_OUTDATED_REVISION):
        return "taint key is not allowed"
    if key.startswith("node.kubernetes.io/") and key != _OUT_OF_SERVICE:
        return f"taint key must not have the prefix node.kubernetes.io/, except for {_OUT_OF_SERVICE}"
    if key.startswith("node.cloudprovider.kubernetes.io/"):
        return "taint key must not have the prefix node.cloudprovider.kubernetes.io/"
    if key == "node-role.kubernetes.io/master":
        return "taint is deprecated since 1.24 and should not be used anymore"
    return ""


def selector_or_error(content: Content, field: str) -> tuple[Selector | None, list[FieldError]]:
    """The selector at a field, or what is wrong with it."""
    try:
        return parse(content), []
    except InvalidSelector as error:
        return None, [invalid(field, as_printed(content), str(error))]


def check_skipped_preflight_checks(new: Content) -> Iterator[FieldError]:
    """The annotation names checks that there are."""
    skipped = text(mapping(new, "metadata", "annotations"), annotation.SKIP_PREFLIGHT_CHECKS)
    unknown = [name.strip() for name in skipped.split(",") if name.strip() not in PREFLIGHT_CHECKS] if skipped else []
    if unknown:
        yield invalid(
            f"metadata.annotations.{annotation.SKIP_PREFLIGHT_CHECKS}",
            unknown,
            f"skipped preflight check(s) must be among: [{' '.join(PREFLIGHT_CHECKS)}]",
        )


def check_machine_naming(new: Content) -> Iterator[FieldError]:
    """Names of machines must differ, and be names."""
    field = "spec.machineNaming.template"
    template = text(new, "spec", "machineNaming", "template")
    if not template:
        return
    if "{{ .random }}" not in template:
        yield invalid(field, template, "invalid template, {{ .random }} is missing")
    try:
        data = {"cluster": {"name": "cluster"}, "machineSet": {"name": "machineset"}}
        name = generate_name(template, data, RANDOM_ALPHABET[:RANDOM_LENGTH])
    except TemplateError as error:
        yield invalid(field, template, f"invalid template: {error}")
    else:
        for problem in dns_subdomain(name):
            detail = f"invalid template, generated names would not be valid Kubernetes object names: {problem}"
            yield invalid(field, template, detail)


def check_share(value: Any, field: str) -> Iterator[FieldError]:
    """A number, or a percentage."""
    if not isinstance(value, str):
        return
    problem = ""
    if not value.endswith("%"):
        problem = "invalid type: string is not a percentage"
    else:
        try:
            parse_int(value.removesuffix("%"))
        except NotANumber as error:
            problem = f"invalid value {quote(value)}: {error}"
    if problem:
        yield invalid(field, value, f"must be either an int or a percentage: invalid value for IntOrString: {problem}")


def check_rollout_strategy(strategy: Content, field: str) -> Iterator[FieldError]:
    """A rollout must be able to go on: by one machine more, or by one less."""
    unavailable = at(strategy, "rollingUpdate", "maxUnavailable")
    surge = at(strategy, "rollingUpdate", "maxSurge")
    yield from check_share(unavailable, f"{field}.rollingUpdate.maxUnavailable")
    yield from check_share(surge, f"{field}.rollingUpdate.maxSurge")
    if unavailable == 0 and surge == 0:
        yield invalid(f"{field}.rollingUpdate", "0", "maxUnavailable and maxSurge cannot both be 0")
