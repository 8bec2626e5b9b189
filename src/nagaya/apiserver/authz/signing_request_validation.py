"""What CertificateSigningRequests may look like.

The metadata's general rules are checked elsewhere; any name goes. Rules that came later do not hold for what an object
already broke before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from cryptography import x509

from nagaya.apiserver.authz.signing_requests import DECISIONS, Part, decoded, parse
from nagaya.apiserver.meta import gostring, names
from nagaya.apiserver.meta.field_errors import (
    FieldError,
    Path,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    repeated,
    required,
    too_long,
)
from nagaya.apiserver.meta.status import JsonObject
from nagaya.pki import pem
from nagaya.pki.usages import Usage

_SHORTEST: Final = 600
_LEGACY_SIGNER: Final = "kubernetes.io/legacy-unknown"
_SPEC: Final = Path("spec")
_CONDITIONS: Final = Path("status").child("conditions")
_USAGES: Final = sorted(Usage)
_FINAL_TYPES: Final = (*DECISIONS, "Failed")
_LONGEST_DOMAIN: Final = 253
_LONGEST_SIGNER: Final = 571


def validate_create(obj: JsonObject) -> list[FieldError]:
    """What is wrong with a new request."""
    return _validate(obj, None)


def validate_update(new: JsonObject, old: JsonObject, part: Part) -> list[FieldError]:
    """What is wrong with a changed request, given the door it was changed through."""
    errors = _validate(new, old)
    for kind in _FINAL_TYPES:
        if len(_of_type(new, kind)) < len(_of_type(old, kind)):
            errors.append(forbidden(_CONDITIONS, f'updates may not remove a condition of type "{kind}"'))
    if part is not Part.APPROVAL:
        for kind in DECISIONS:
            before, after = _of_type(old, kind), _of_type(new, kind)
            if len(after) > len(before):
                errors.append(forbidden(_CONDITIONS, f'updates may not add a condition of type "{kind}"'))
            elif len(after) == len(before) and after != before:
                errors.append(forbidden(_CONDITIONS, f'updates may not modify a condition of type "{kind}"'))
    had = _certificate(old)
    if _certificate(new) != had:
        where = Path("status").child("certificate")
        if part is not Part.STATUS:
            errors.append(forbidden(where, "updates may not set certificate content"))
        elif had:
            errors.append(forbidden(where, "updates may not modify existing certificate content"))
    return errors


def _of_type(obj: JsonObject, kind: str) -> list[JsonObject]:
    return [each for each in _conditions(obj) if each.get("type") == kind]


def _conditions(obj: JsonObject) -> list[JsonObject]:
    conditions: list[JsonObject] = (obj.get("status") or {}).get("conditions") or []
    return conditions


def _certificate(obj: JsonObject) -> str:
    certificate: str = (obj.get("status") or {}).get("certificate") or ""
    return certificate


def _validate(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    spec = obj.get("spec") or {}
    errors: list[FieldError] = []
    try:
        problem = parse(obj).signature_problem
    except ValueError as unreadable:
        problem = str(unreadable)
    if problem:
        # The real server shows the request as the numbers of its bytes' base64 form, that is, as the text that was
        # sent.
        errors.append(invalid(_SPEC.child("request"), spec.get("request"), problem))
    errors += _validate_usages(spec.get("usages") or [], old)
    errors += _validate_signer(spec.get("signerName") or "", old)
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _SHORTEST:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        errors.append(invalid(_SPEC.child("expirationSeconds"), seconds, detail))
    errors += _validate_conditions(obj, old)
    before = _certificate(old) if old is not None else ""
    unchecked = old is not None and (before == _certificate(obj) or certificate_problem(decoded(before)))
    problem = "" if unchecked else certificate_problem(decoded(_certificate(obj)))
    if problem:
        errors.append(invalid(Path("status").child("certificate"), "<certificate data>", problem))
    return errors


def _validate_usages(usages: Sequence[str], old: JsonObject | None) -> list[FieldError]:
    where = _SPEC.child("usages")
    errors = [] if usages else [required(where)]
    before = [] if old is None else (old.get("spec") or {}).get("usages") or []
    if all(usage in _USAGES for usage in before):
        errors += [
            not_supported(where.index(position), usage, _USAGES)
            for position, usage in enumerate(usages)
            if usage not in _USAGES
        ]
    if len(set(before)) == len(before):
        errors += [duplicate(where.index(position), usage) for position, usage in repeated(usages)]
    return errors


def _validate_signer(signer: str, old: JsonObject | None) -> list[FieldError]:
    where = _SPEC.child("signerName")
    before = "" if old is None else (old.get("spec") or {}).get("signerName")
    if signer == _LEGACY_SIGNER and before != _LEGACY_SIGNER:
        return [invalid(where, signer, "the legacy signerName is not allowed via this API version")]
    return signer_name_errors(where, signer)


def _validate_conditions(obj: JsonObject, old: JsonObject | None) -> list[FieldError]:
    before = [] if old is None else [each.get("type") or "" for each in _conditions(old)]
    exclusive = not ("Approved" in before and "Denied" in before)
    unique = len(set(before)) == len(before)
    errors: list[FieldError] = []
    seen: set[str] = set()
    for position, condition in enumerate(_conditions(obj)):
        where = _CONDITIONS.index(position)
        kind, state = condition.get("type") or "", condition.get("status") or ""
        if not kind and "" not in before:
            errors.append(required(where.child("type")))
        allowed = ("True",) if kind in _FINAL_TYPES else ("False", "True", "Unknown")
        if not state:
            errors.append(required(where.child("status")))
        elif state not in allowed:
            errors.append(not_supported(where.child("status"), state, allowed))
        other = {"Approved": "Denied", "Denied": "Approved"}.get(kind)
        if exclusive and other in seen:
            errors.append(invalid(_CONDITIONS, kind, "Approved and Denied conditions are mutually exclusive"))
        if unique and kind in seen:
            errors.append(duplicate(where.child("type"), kind))
        seen.add(kind)
    return errors


def certificate_problem(text: bytes) -> str:
    """What is wrong with an issued certificate; nothing if it is fine or not there."""
    if not text:
        return ""
    blocks = list(pem.blocks(text))
    if not blocks:
        return "must contain at least one CERTIFICATE PEM block"
    for block in blocks:
        if block.label != pem.CERTIFICATE:
            return f'only CERTIFICATE PEM blocks are allowed, found "{block.label}"'
        if block.headers:
            return "no PEM block headers are permitted"
        try:
            x509.load_der_x509_certificate(block.data)
        except ValueError:
            return "x509: malformed certificate"
    return ""


def signer_name_errors(where: Path, signer: str) -> list[FieldError]:
    """What is wrong with a signer's name, which reads `<domain>/<path>`."""
    if not signer:
        return [required(where)]
    segments = signer.split("/")
    if len(segments) != 2:
        problem = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(where, signer, problem)]
    domain, path = segments
    errors: list[FieldError] = []
    if names.size(domain) > _LONGEST_DOMAIN:
        errors.append(too_long(where, _LONGEST_DOMAIN))
    errors += _label_errors(where, domain, strict=True)
    if "." not in domain:
        errors.append(invalid(where, domain, "should be a domain with at least two segments separated by dots"))
    errors += _label_errors(where, path, strict=False)
    if names.size(signer) > _LONGEST_SIGNER:
        errors.append(too_long(where, _LONGEST_SIGNER))
    return errors


def _label_errors(where: Path, segment: str, *, strict: bool) -> list[FieldError]:
    """What is wrong with the first bad label of a segment."""
    check = names.dns_label if strict else names.dns_subdomain
    for label in segment.split("."):
        problems = check(label)
        if problems:
            quoted = gostring.quote(label)
            return [invalid(where, segment, f"validating label {quoted}: {problem}") for problem in problems]
    return []
