"""What is wrong with the expressions of a policy or webhook configuration, found when it is written.

Only members that hold expressions, and those that go with them, are looked at; the rest of the objects is validated
where their kinds are. Findings come in the real server's order and words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from nagaya.apiserver.cel import types
from nagaya.apiserver.cel.escaping import KEYWORDS
from nagaya.apiserver.cel.policy_expressions import Expression, PolicyCompiler
from nagaya.apiserver.cel.policy_types import JSON_PATCH, OBJECT
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    internal,
    invalid,
    not_supported,
    required,
    too_many,
)
from nagaya.apiserver.meta.status import JsonObject

_MAX_CONDITIONS: Final = 64
_MAX_ANNOTATIONS: Final = 20
_MAX_VALUE_EXPRESSION: Final = 5 * 1024
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_PATCH_TYPES: Final = ("ApplyConfiguration", "JSONPatch")
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_LINE_BREAK: Final = re.compile(r"[\n\r]")


def match_condition_errors(conditions: Sequence[JsonObject], path: Path, *, params: bool = False) -> list[FieldError]:
    """Findings about `matchConditions`; policies with parameters may use `params` in them."""
    return list(_match_conditions(conditions, path, params=params))


def validating_policy_errors(name: str, spec: JsonObject, path: Path) -> list[FieldError]:
    """Findings about the expressions in the spec of a ValidatingAdmissionPolicy of that name."""
    params = spec.get("paramKind") is not None
    variables = spec.get("variables") or []
    compiler = PolicyCompiler(params=params, composition=bool(variables))
    return [
        *_match_conditions(spec.get("matchConditions") or [], path.child("matchConditions"), params=params),
        *_variables(variables, compiler, path.child("variables")),
        *_validations(spec, compiler, path),
        *_annotations(name, spec.get("auditAnnotations") or [], compiler, path.child("auditAnnotations")),
    ]


def mutating_policy_errors(spec: JsonObject, path: Path) -> list[FieldError]:
    """Findings about the expressions in the spec of a MutatingAdmissionPolicy."""
    params = spec.get("paramKind") is not None
    compiler = PolicyCompiler(params=params)
    found = [
        *_match_conditions(spec.get("matchConditions") or [], path.child("matchConditions"), params=params),
        *_variables(spec.get("variables") or [], compiler, path.child("variables")),
    ]
    mutations = spec.get("mutations") or []
    if not mutations:
        found.append(required(path.child("mutations"), "mutations must contain at least one item"))
    for position, mutation in enumerate(mutations):
        found += _mutation(mutation, compiler, path.child("mutations").index(position))
    return found


def _compile_error(expression: Expression, where: Path, shown: str | None = None) -> Iterator[FieldError]:
    if expression.problem is None:
        return
    if expression.problem.internal:
        yield internal(where, expression.problem.detail)
    else:
        yield invalid(where, expression.text if shown is None else shown, expression.problem.detail)


def _match_conditions(conditions: Sequence[JsonObject], path: Path, *, params: bool) -> Iterator[FieldError]:
    if len(conditions) > _MAX_CONDITIONS:
        yield too_many(path, len(conditions), _MAX_CONDITIONS)
    compiler = PolicyCompiler(params=params, composition=False)
    seen: set[str] = set()
    for position, condition in enumerate(conditions):
        where = path.index(position)
        text = (condition.get("expression") or "").strip()
        if not text:
            yield required(where.child("expression"))
        else:
            yield from _compile_error(compiler.compile(text, (types.BOOL,)), where.child("expression"))
        name = condition.get("name") or ""
        if not name:
            yield required(where.child("name"))
            continue
        yield from _qualified_name(name, where.child("name"))
        if name in seen:
            yield duplicate(where.child("name"), name)
        seen.add(name)


def _qualified_name(name: str, where: Path) -> Iterator[FieldError]:
    for problem in names.qualified_name(name):
        yield invalid(where, name, problem)


def _variables(variables: Sequence[JsonObject], compiler: PolicyCompiler, path: Path) -> Iterator[FieldError]:
    for position, variable in enumerate(variables):
        where = path.index(position)
        name, text = variable.get("name") or "", variable.get("expression") or ""
        if not name.strip():
            yield required(where.child("name"), "name is not specified")
        elif not _IDENTIFIER.fullmatch(name) or name in KEYWORDS:
            yield invalid(where.child("name"), name, "must be a valid CEL identifier")
        if not text.strip():
            yield required(where.child("expression"), "expression is not specified")
        else:
            yield from _compile_error(compiler.add_variable(name, text), where.child("expression"))


def _validations(spec: JsonObject, compiler: PolicyCompiler, path: Path) -> Iterator[FieldError]:
    validations = spec.get("validations") or []
    if not validations and not spec.get("auditAnnotations"):
        detail = "validations or auditAnnotations must contain at least one item"
        yield required(path.child("validations"), detail)
        yield required(path.child("auditAnnotations"), detail)
    for position, validation in enumerate(validations):
        yield from _validation(validation, compiler, path.child("validations").index(position))


def _validation(validation: JsonObject, compiler: PolicyCompiler, path: Path) -> Iterator[FieldError]:
    text = validation.get("expression") or ""
    if not text.strip():
        yield required(path.child("expression"), "expression is not specified")
    else:
        yield from _compile_error(compiler.compile(text, (types.BOOL,)), path.child("expression"))
    message_expression = validation.get("messageExpression") or ""
    if message_expression and not message_expression.strip():
        yield invalid(path.child("messageExpression"), message_expression, "must be non-empty if specified")
    elif message_expression:
        compiled = compiler.compile(message_expression, (types.STRING,), authorizer=False)
        yield from _compile_error(compiled, path.child("messageExpression"))
    message = validation.get("message") or ""
    if message and not message.strip():
        yield invalid(path.child("message"), message, "must be non-empty if specified")
    elif _LINE_BREAK.search(message.strip()):
        yield invalid(path.child("message"), message, "must not contain line breaks")
    reason: Any = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        yield not_supported(path.child("reason"), reason, _REASONS)


def _annotations(
    policy: str, annotations: Sequence[JsonObject], compiler: PolicyCompiler, path: Path
) -> Iterator[FieldError]:
    if len(annotations) > _MAX_ANNOTATIONS:
        yield invalid(path, list(annotations), f"must not have more than {_MAX_ANNOTATIONS} auditAnnotations")
    seen: set[str] = set()
    for position, annotation in enumerate(annotations):
        where = path.index(position)
        key, value = annotation.get("key") or "", annotation.get("valueExpression") or ""
        if policy:
            yield from _qualified_name(f"{policy}/{key}", where.child("key"))
        else:
            yield invalid(where.child("key"), key, "requires metadata.name be non-empty")
        text = value.strip()
        at = where.child("valueExpression")
        if not text:
            yield required(at, "valueExpression is not specified")
        elif len(text.encode()) > _MAX_VALUE_EXPRESSION:
            yield required(at, f"must not exceed {_MAX_VALUE_EXPRESSION} bytes in length")
        else:
            yield from _compile_error(compiler.compile(text, (types.STRING, types.NULL)), at, value)
        if key in seen:
            yield duplicate(where.child("key"), key)
        seen.add(key)


def _mutation(mutation: JsonObject, compiler: PolicyCompiler, path: Path) -> Iterator[FieldError]:
    kind = mutation.get("patchType") or ""
    if not kind:
        yield required(path.child("patchType"))
        return
    if kind not in _PATCH_TYPES:
        yield not_supported(path.child("patchType"), kind, _PATCH_TYPES)
        return
    members = ("jsonPatch", "applyConfiguration")
    mine, other = members if kind == "JSONPatch" else members[::-1]
    body = mutation.get(mine)
    if body is None:
        yield required(path.child(mine), f"must be specified when patchType is {kind}")
    else:
        text = (body.get("expression") or "").strip()
        where = path.child(mine).child("expression")
        returns = types.list_of(JSON_PATCH) if kind == "JSONPatch" else OBJECT
        if not text:
            yield required(where)
        else:
            yield from _compile_error(compiler.compile(text, (returns,), patches=True), where)
    if mutation.get(other) is not None:
        yield invalid(path.child(other), f"{{{other}}}", f"must not be specified when patchType is {kind}")
