"""The admissionregistration group: webhooks and policies."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from nagaya.apiserver.meta.status import JsonObject
from nagaya.apiserver.table.builtin.parts import UNSET, age, name, spec
from nagaya.apiserver.table.columns import AGE, NAME, Cells, Row, number, shape, text


@shape(NAME, number("Webhooks", "The number of webhooks."), AGE)
def WEBHOOK_CONFIGURATIONS(obj: JsonObject, now: datetime) -> Cells:
    return [name(obj), len(obj.get("webhooks") or ()), age(obj, now)]


def _policy(member: str) -> Row:
    def row(obj: JsonObject, now: datetime) -> Cells:
        wanted = spec(obj)
        kind: JsonObject | None = wanted.get("paramKind")
        shown = UNSET if kind is None else f"{kind.get('apiVersion') or ''}/{kind.get('kind') or ''}"
        return [name(obj), len(wanted.get(member) or ()), shown, age(obj, now)]

    return row


_PARAM_KIND: Final = text("ParamKind", "The kind of objects that hold the policy's parameters.")
VALIDATING_POLICIES: Final = shape(NAME, number("Validations", "The number of rules."), _PARAM_KIND, AGE)(
    _policy("validations")
)
MUTATING_POLICIES: Final = shape(NAME, number("Mutations", "The number of changes."), _PARAM_KIND, AGE)(
    _policy("mutations")
)


@shape(
    NAME,
    text("PolicyName", "The policy that is put to use."),
    text("ParamRef", "The objects that hold the parameters."),
    AGE,
)
def POLICY_BINDINGS(obj: JsonObject, now: datetime) -> Cells:
    wanted = spec(obj)
    return [name(obj), wanted.get("policyName") or "", _parameters(wanted.get("paramRef")), age(obj, now)]


def _parameters(reference: JsonObject | None) -> str:
    if reference is None:
        return UNSET
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    selector: JsonObject | None = reference.get("selector")
    return UNSET if selector is None else _as_go_prints(selector)


def _as_go_prints(selector: JsonObject) -> str:
    """A selector in the form that its Go type has for debugging, which the real server shows."""
    labels: dict[str, str] = selector.get("matchLabels") or {}
    pairs = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    expressions = "".join(map(_expression, selector.get("matchExpressions") or ()))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _expression(expression: JsonObject) -> str:
    values = " ".join(expression.get("values") or ())
    key, operator = expression.get("key") or "", expression.get("operator") or ""
    return f"LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}},"
