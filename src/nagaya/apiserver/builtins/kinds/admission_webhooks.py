"""What is wrong with webhook configurations.

What was wrong with an object before it may stay so: rules that came later are not held against those who were there
first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nagaya.apiserver.builtins.kinds.admission_rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    REINVOCATION_POLICIES,
    rule_errors,
)
from nagaya.apiserver.cel.policy_validation import match_condition_errors
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, duplicate, invalid, not_supported, required
from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.selectors import label_selector
from nagaya.apiserver.webhooks import review_versions
from nagaya.apiserver.webhooks.client_config import client_config_errors

_HARMLESS: Final = ("None", "NoneOnDryRun")
_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun", "Some", "Unknown")


@dataclass(frozen=True, slots=True)
class _Demands:
    """What is demanded of webhooks; less of those that did not meet it before."""

    harmless: bool = True
    known_version: bool = True
    unique_names: bool = True
    label_values: bool = True
    conditions: bool = True


def configuration_errors(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Findings about a MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""
    hooks = obj.get("webhooks") or []
    demands = _Demands() if old is None else _demands(hooks, old.get("webhooks") or [])
    found: list[FieldError] = []
    seen: set[str] = set()
    for position, hook in enumerate(hooks):
        path = Path("webhooks").index(position)
        found += _hook(hook, demands, path)
        versions = hook.get("admissionReviewVersions") or []
        found += review_versions.review_version_errors(
            versions,
            path.child("admissionReviewVersions"),
            known=demands.known_version,
            when_missing=review_versions.MUST_NAME_ONE,
        )
        name = hook.get("name") or ""
        if demands.unique_names and name:
            if name in seen:
                found.append(duplicate(path.child("name"), name))
            seen.add(name)
    return found


def _demands(hooks: Sequence[JsonObject], before: Sequence[JsonObject]) -> _Demands:
    given = [each.get("admissionReviewVersions") or [] for each in before]
    named = [each.get("name") for each in before]
    conditions = [each.get("matchConditions") or [] for each in hooks]
    return _Demands(
        harmless=all(each.get("sideEffects") in _HARMLESS for each in before),
        known_version=all(map(review_versions.is_known, given)),
        unique_names=len(set(named)) == len(named),
        label_values=not any(
            label_selector.validate(each.get(member), Path())
            for each in before
            for member in ("namespaceSelector", "objectSelector")
        ),
        conditions=conditions != [each.get("matchConditions") or [] for each in before],
    )


def _hook(hook: JsonObject, demands: _Demands, path: Path) -> Iterator[FieldError]:
    yield from _qualified(hook.get("name") or "", path.child("name"))
    for position, rule in enumerate(hook.get("rules") or ()):
        yield from rule_errors(rule, path.child("rules").index(position))
    yield from _choice(hook, "failurePolicy", FAILURE_POLICIES, path)
    yield from _choice(hook, "matchPolicy", MATCH_POLICIES, path)
    allowed = _HARMLESS if demands.harmless else _SIDE_EFFECTS
    if hook.get("sideEffects") is None:
        yield required(path.child("sideEffects"), f"must specify one of {', '.join(allowed)}")
    yield from _choice(hook, "sideEffects", allowed, path)
    timeout = hook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= 30:
        detail = "the timeout value must be between 1 and 30 seconds"
        yield invalid(path.child("timeoutSeconds"), timeout, detail)
    for member in ("namespaceSelector", "objectSelector"):
        yield from label_selector.validate(
            hook.get(member), path.child(member), invalid_values_allowed=not demands.label_values
        )
    yield from _choice(hook, "reinvocationPolicy", REINVOCATION_POLICIES, path)
    yield from client_config_errors(hook.get("clientConfig") or {}, path.child("clientConfig"))
    if demands.conditions:
        yield from match_condition_errors(hook.get("matchConditions") or [], path.child("matchConditions"))


def _choice(hook: JsonObject, member: str, allowed: Sequence[str], path: Path) -> Iterator[FieldError]:
    value = hook.get(member)
    if value is not None and value not in allowed:
        yield not_supported(path.child(member), value, allowed)


def _qualified(name: str, path: Path) -> Iterator[FieldError]:
    if not name:
        yield required(path)
    elif problems := names.dns_subdomain(name):
        yield invalid(path, name, ",".join(problems))
    elif name.count(".") < 2:
        yield invalid(path, name, "should be a domain with at least three segments separated by dots")
