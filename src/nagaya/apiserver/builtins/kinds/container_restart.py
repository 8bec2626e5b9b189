"""When a single container is started again, and when for new amounts of resources."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    invalid,
    not_supported,
    required,
    too_many,
)
from nagaya.apiserver.meta.status import JsonObject

_POLICIES: Final = ("Always", "Never", "OnFailure")
_ACTIONS: Final = ("Restart", "RestartAllContainers")
_OPERATORS: Final = ("In", "NotIn")
_MOST_RULES: Final = 20
_MOST_CODES: Final = 255


def validate_restart(container: JsonObject, path: Path) -> Iterator[FieldError]:
    """A container's own policy and its rules for exit codes."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or ()
    if policy is None:
        if not rules:
            return
        yield required(path.child("restartPolicy"), "must specify restartPolicy when restart rules are used")
    elif policy not in _POLICIES:
        yield not_supported(path.child("restartPolicy"), policy, _POLICIES)
    if len(rules) > _MOST_RULES:
        yield too_many(path.child("restartPolicyRules"), len(rules), _MOST_RULES)
    for position, rule in enumerate(rules):
        where = path.child("restartPolicyRules").index(position)
        action = rule.get("action") or ""
        if action not in _ACTIONS:
            yield not_supported(where.child("action"), action, _ACTIONS)
        codes = rule.get("exitCodes")
        if codes is None:
            yield required(where.child("exitCodes"), "must be specified")
            continue
        operator, values = codes.get("operator") or "", codes.get("values") or ()
        if operator not in _OPERATORS:
            yield not_supported(where.child("exitCodes", "operator"), operator, _OPERATORS)
        if len(values) > _MOST_CODES:
            yield too_many(where.child("exitCodes", "values"), len(values), _MOST_CODES)


def validate_init_restart(container: JsonObject, path: Path) -> Iterator[FieldError]:
    """The same for an init container, where rules without a policy are the only mistake made without one."""
    if container.get("restartPolicy") is None:
        if container.get("restartPolicyRules"):
            yield required(path.child("restartPolicy"), "must specify restartPolicy when restart rules are used")
        return
    yield from validate_restart(container, path)


def validate_resize(policies: Sequence[JsonObject], pod_policy: str, path: Path) -> Iterator[FieldError]:
    """Whether a container has to be started again when it gets other amounts."""
    seen: set[str] = set()
    for position, policy in enumerate(policies):
        name, restart = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if name in seen:
            yield duplicate(path.index(position), name)
        seen.add(name)
        for value, known in ((name, ("cpu", "memory")), (restart, ("NotRequired", "RestartContainer"))):
            if not value:
                yield required(path)
            elif value not in known:
                yield not_supported(path, value, known)
        if pod_policy == "Never" and restart != "NotRequired":
            yield invalid(path, restart, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
