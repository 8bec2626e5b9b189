"""What is wrong with admission policies and their bindings.

Whoever names parameters has to be allowed to read them, because a policy's messages may show what is in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nagaya.apiserver.authn.user import User
from nagaya.apiserver.authz.attributes import Attributes
from nagaya.apiserver.builtins.kinds.admission_rules import (
    FAILURE_POLICIES,
    REINVOCATION_POLICIES,
    match_resources_errors,
    mutable_operation_errors,
)
from nagaya.apiserver.cel.policy_validation import mutating_policy_errors, validating_policy_errors
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from nagaya.apiserver.meta.gvk import GroupVersion, GroupVersionKind
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.registry.call import Call
from nagaya.apiserver.selectors import label_selector

_SPEC: Final = Path("spec")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND_ACTIONS: Final = ("Deny", "Allow")


def policy_errors(obj: JsonObject, old: JsonObject | None, call: Call, *, mutating: bool) -> list[FieldError]:
    """Findings about a ValidatingAdmissionPolicy or MutatingAdmissionPolicy."""
    spec = obj.get("spec") or {}
    found = list(_common(spec, mutating=mutating))
    before = None if old is None else old.get("spec") or {}
    if before is not None and all(spec.get(each) == before.get(each) for each in ("paramKind", "matchConditions")):
        spec = {key: value for key, value in spec.items() if key != "matchConditions"}
    if mutating:
        found += mutating_policy_errors(spec, _SPEC)
        found += _reinvocation(spec.get("reinvocationPolicy") or "")
    else:
        found += validating_policy_errors(obj["metadata"].get("name") or "", spec, _SPEC)
    kind = spec.get("paramKind")
    if not found and kind and kind != (before or {}).get("paramKind"):
        found += _unreadable_kind(kind, call)
    return found


def _common(spec: JsonObject, *, mutating: bool) -> Iterator[FieldError]:
    failure = spec.get("failurePolicy")
    if failure is None:
        yield required(_SPEC.child("failurePolicy"))
    elif failure not in FAILURE_POLICIES:
        yield not_supported(_SPEC.child("failurePolicy"), failure, FAILURE_POLICIES)
    if spec.get("paramKind") is not None:
        yield from _param_kind(spec["paramKind"], _SPEC.child("paramKind"))
    match, where = spec.get("matchConstraints"), _SPEC.child("matchConstraints")
    if match is None:
        yield required(where)
        return
    yield from match_resources_errors(match, where)
    if not match.get("resourceRules"):
        yield required(where.child("resourceRules"))
    if mutating:
        yield from mutable_operation_errors(match, where)


def _param_kind(kind: JsonObject, path: Path) -> Iterator[FieldError]:
    api_version, where = kind.get("apiVersion") or "", path.child("apiVersion")
    if not api_version:
        yield required(where)
    elif api_version.count("/") > 1:
        yield invalid(where, api_version, f"unexpected GroupVersion string: {api_version}")
    else:
        group, _, version = api_version.rpartition("/")
        if group and (problems := names.dns_subdomain(group)):
            yield invalid(where, group, ",".join(problems))
        if not version:
            yield invalid(where, api_version, "version must be specified")
        elif problems := names.dns1035_label(version):
            yield invalid(where, version, ",".join(problems))
    name = kind.get("kind") or ""
    if not name:
        yield required(path.child("kind"))
    elif problems := names.dns1035_label(name.lower()):
        detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
        yield invalid(path.child("kind"), name, detail)


def _reinvocation(policy: str) -> Iterator[FieldError]:
    where = _SPEC.child("reinvocationPolicy")
    if not policy:
        yield required(where)
    elif policy not in REINVOCATION_POLICIES:
        yield not_supported(where, policy, REINVOCATION_POLICIES)


def binding_errors(obj: JsonObject, old: JsonObject | None, call: Call, *, mutating: bool) -> list[FieldError]:
    """Findings about a ValidatingAdmissionPolicyBinding or MutatingAdmissionPolicyBinding."""
    spec = obj.get("spec") or {}
    found = list(_binding(spec, mutating=mutating))
    parameters = spec.get("paramRef")
    before = {} if old is None else old.get("spec") or {}
    # The real server compares what is pointed to, so a selector is never the same as before.
    same = before.get("paramRef") == parameters and "selector" not in (parameters or {})
    if not found and parameters and not (same and before.get("policyName") == spec.get("policyName")):
        found += _unreadable_parameters(spec, call, mutating=mutating)
    return found


def _binding(spec: JsonObject, *, mutating: bool) -> Iterator[FieldError]:
    policy = spec.get("policyName") or ""
    if not policy:
        yield required(_SPEC.child("policyName"))
    for problem in names.name_is_subdomain(policy) if policy else ():
        yield invalid(_SPEC.child("policyName"), policy, problem)
    if spec.get("paramRef") is not None:
        yield from _param_ref(spec["paramRef"], _SPEC.child("paramRef"))
    match, where = spec.get("matchResources"), _SPEC.child("matchResources")
    if match is not None:
        yield from match_resources_errors(match, where)
    if not mutating:
        yield from _actions(spec.get("validationActions") or [], _SPEC.child("validationActions"))
    elif match is not None:
        yield from mutable_operation_errors(match, where)


def _param_ref(reference: JsonObject, path: Path) -> Iterator[FieldError]:
    name, selector = reference.get("name") or "", reference.get("selector")
    both = "name and selector are mutually exclusive"
    if name:
        for problem in names.path_segment(name):
            yield invalid(path.child("name"), name, problem)
        if selector is not None:
            yield forbidden(path.child("name"), both)
    if selector is not None:
        yield from label_selector.validate(selector, path.child("selector"))
        if name:
            yield forbidden(path.child("selector"), both)
    if not name and selector is None:
        yield required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction") or ""
    if not action:
        yield required(path.child("parameterNotFoundAction"))
    elif action not in _NOT_FOUND_ACTIONS:
        yield not_supported(path.child("parameterNotFoundAction"), action, _NOT_FOUND_ACTIONS)


def _actions(actions: list[str], path: Path) -> Iterator[FieldError]:
    seen: set[str] = set()
    for position, action in enumerate(actions):
        if action not in _ACTIONS:
            yield not_supported(path.index(position), action, _ACTIONS)
        if action in seen:
            yield duplicate(path.index(position), action)
        seen.add(action)
    if "Deny" in seen and "Warn" in seen:
        detail = (
            "must not contain both Deny and Warn (repeating the same validation failure information in the API "
            "response and headers serves no purpose)"
        )
        yield invalid(path, actions, detail)
    if not seen:
        yield required(path, "at least one validation action is required")


def _unreadable_kind(kind: JsonObject, call: Call) -> Iterator[FieldError]:
    group, version, resource = _resource(kind, call)
    asked = Attributes(call.user, "get", group, version, resource, name="*", namespace="*")
    if not call.backend.authorizer.authorize(asked).allowed:
        shown = f"(kind={kind.get('kind')}, apiVersion={kind.get('apiVersion')})"
        why = f'user {_shown(call.user)} must have "get" permission on all objects of the referenced paramKind {shown}'
        yield forbidden(_SPEC.child("paramKind"), why)


def _unreadable_parameters(spec: JsonObject, call: Call, *, mutating: bool) -> Iterator[FieldError]:
    reference = spec["paramRef"]
    sort = "mutatingadmissionpolicies" if mutating else "validatingadmissionpolicies"
    record = call.backend.store.get(f"admissionregistration.k8s.io/{sort}", spec["policyName"])
    kind = None if record is None else (record.object().get("spec") or {}).get("paramKind")
    group, version, resource = ("*", "*", "*") if kind is None else _resource(kind, call)
    verb = "get" if reference.get("name") else "list"
    name, namespace = reference.get("name") or "", reference.get("namespace") or ""
    asked = Attributes(call.user, verb, group, version, resource, name=name, namespace=namespace)
    if call.backend.authorizer.authorize(asked).allowed:
        return
    user = _shown(call.user)
    everything = (
        "to determine minimum required permissions and user "
        f'{user} does not have "{verb}" permission for all groups, versions and resources'
    )
    if record is None:
        why = f"unable to get policy {spec['policyName']} {everything}"
    elif kind is not None and resource == "*":
        shown = f"&ParamKind{{APIVersion:{kind.get('apiVersion')},Kind:{kind.get('kind')},}}"
        why = f"unable to resolve paramKind {shown} {everything}"
    else:
        why = f'user {user} does not have "{verb}" permission on the object referenced by paramRef'
    yield forbidden(_SPEC.child("paramRef"), why)


def _resource(kind: JsonObject, call: Call) -> tuple[str, str, str]:
    """What has to be readable: the resource of a kind, or all of its group and version if it is not known."""
    group, version = GroupVersion.parse(kind.get("apiVersion") or "")
    found = call.backend.catalog.by_kind(GroupVersionKind(group, version, kind.get("kind") or ""))
    return group, version, "*" if found is None else found.gvr.resource


def _shown(user: User) -> str:
    """A user as Go prints it."""
    extra = " ".join(f"{key}:[{' '.join(values)}]" for key, values in sorted(user.extra.items()))
    return f"&{{{user.name} {user.uid} [{' '.join(user.groups)}] map[{extra}]}}"
