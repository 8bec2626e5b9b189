"""What a definition may call its kind, and which groups are not free for everybody."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Final

from nagaya.apiserver.crd import urls
from nagaya.apiserver.meta import names
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid, required
from nagaya.apiserver.meta.status import JsonObject

APPROVED: Final = "api-approved.kubernetes.io"
_PROTECTED: Final = ("k8s.io", "kubernetes.io")


def check(given: JsonObject, path: Path) -> Iterator[FieldError]:
    """What is wrong with the names in a spec or in `status.acceptedNames`, as far as there are any."""
    for member in ("plural", "singular"):
        if (name := given.get(member) or "") and (problems := names.dns1035_label(name)):
            yield invalid(path.child(member), name, ",".join(problems))
    for member in ("kind", "listKind"):
        if (name := given.get(member) or "") and (problems := names.dns1035_label(name.lower())):
            detail = f"may have mixed case, but should otherwise match: {','.join(problems)}"
            yield invalid(path.child(member), name, detail)
    yield from _check_each(given, "shortNames", path)
    kind, list_kind = given.get("kind") or "", given.get("listKind") or ""
    if kind and kind == list_kind:
        yield invalid(path.child("listKind"), list_kind, "kind and listKind may not be the same")
    yield from _check_each(given, "categories", path)


def _check_each(given: JsonObject, member: str, path: Path) -> Iterator[FieldError]:
    for position, name in enumerate(given.get(member) or ()):
        if problems := names.dns1035_label(name):
            yield invalid(path.child(member).index(position), name, ",".join(problems))


def check_required(given: JsonObject, path: Path) -> Iterator[FieldError]:
    """Which names a spec lacks, after defaulting."""
    for member in ("plural", "singular", "kind", "listKind"):
        if not given.get(member):
            yield required(path.child(member))


class Approval(Enum):
    """What the annotation of a definition in a protected group says."""

    INVALID = "invalid"
    APPROVED = "approved"
    BYPASSED = "bypassed"
    MISSING = "missing"


def is_protected(group: str) -> bool:
    """Whether a group belongs to the Kubernetes project."""
    return group in _PROTECTED or group.endswith(tuple(f".{each}" for each in _PROTECTED))


def approval(definition: JsonObject) -> tuple[Approval, str]:
    """The state of a definition's approval, and the reason in words."""
    text = ((definition.get("metadata") or {}).get("annotations") or {}).get(APPROVED) or ""
    about = f'protected groups must have approval annotation "{APPROVED}"'
    see = "see https://github.com/kubernetes/enhancements/pull/1111"
    if not text:
        return Approval.MISSING, f"{about}, {see}"
    if text.startswith("unapproved"):
        return Approval.BYPASSED, f'not approved: "{text}"'
    if _is_address(text):
        return Approval.APPROVED, f"approved in {text}"
    return Approval.INVALID, f'{about} with either a URL or a reason starting with "unapproved", {see}'


def _is_address(text: str) -> bool:
    try:
        url = urls.parse_request(text)
    except ValueError:
        return False
    return bool(url.host and url.scheme)


def check_approval(new: JsonObject, old: JsonObject | None) -> list[FieldError]:
    """Whether a definition in a protected group says who approved it. What an update leaves as it was is fine."""
    spec = new.get("spec") or {}
    if not is_protected(spec.get("group") or ""):
        return []
    state, reason = approval(new)
    if old is not None and approval(old)[0] is state:
        return []
    where = Path("metadata.annotations").key(APPROVED)
    if state is Approval.MISSING:
        return [required(where, reason)]
    if state is Approval.INVALID:
        return [invalid(where, new["metadata"]["annotations"][APPROVED], reason)]
    return []
