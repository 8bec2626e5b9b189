"""Names and amounts of resources: cpu, memory, hugepages-2Mi, example.com/gpu.

Which names are allowed depends on where they stand; the tables are Kubernetes' own. Amounts are exact down to a
thousandth; finer ones are rounded up when an object is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from nagaya.apiserver.meta import names, quantity
from nagaya.apiserver.meta.field_errors import FieldError, Path, invalid
from nagaya.apiserver.meta.quantity import Quantity

STORAGE: Final = "storage"
HUGE_PAGES: Final = "hugepages-"
NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"
NOT_INTEGER: Final = "must be an integer"

_MILLI: Final = -3
_NATIVE_DOMAIN: Final = "kubernetes.io/"
_REQUESTS: Final = "requests."
_COMPUTE: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED: Final = frozenset(
    {
        "pods",
        "resourcequotas",
        "services",
        "replicationcontrollers",
        "secrets",
        "configmaps",
        "persistentvolumeclaims",
        "services.nodeports",
        "services.loadbalancers",
    }
)
_QUOTA: Final = (
    _COMPUTE
    | _COUNTED
    | {f"{prefix}.{name}" for prefix in ("requests", "limits") for name in _COMPUTE}
    | {"requests.storage"}
)
_is_coarse = re.compile(r"[0-9]+(?:m|k|[KMGTPE]i?)?").fullmatch


def is_native(name: str) -> bool:
    """Whether a resource is Kubernetes' own."""
    return "/" not in name or _NATIVE_DOMAIN in name


def is_extended(name: str) -> bool:
    """Whether a resource is somebody else's, and can be part of a quota."""
    return not is_native(name) and not name.startswith(_REQUESTS) and not names.qualified_name(_REQUESTS + name)


def is_huge_pages(name: str) -> bool:
    """Whether a resource is a size of huge pages."""
    return name.startswith(HUGE_PAGES)


def is_overcommit_allowed(name: str) -> bool:
    """Whether a limit may be greater than the request."""
    return is_native(name) and not is_huge_pages(name)


def is_standard_quota(name: str) -> bool:
    """Whether quotas know the resource."""
    return name in _QUOTA or name.startswith((HUGE_PAGES, _REQUESTS + HUGE_PAGES))


def _is_integer(name: str) -> bool:
    return name in _COUNTED or is_extended(name)


def validate_name(name: str, where: Path) -> list[FieldError]:
    """A resource is qualified with a domain, or one that Kubernetes knows."""
    errors = [invalid(where, name, problem) for problem in names.qualified_name(name)]
    if not errors and "/" not in name and name != STORAGE and not is_standard_quota(name):
        errors.append(invalid(where, name, "must be a standard resource type or fully qualified"))
    return errors


def validate_container_name(name: str, where: Path) -> list[FieldError]:
    """A resource that containers can ask for."""
    errors = validate_name(name, where)
    if "/" not in name:
        if name not in _COMPUTE and not is_huge_pages(name):
            errors.append(invalid(where, name, "must be a standard resource for containers"))
    elif not is_native(name) and not is_extended(name):
        errors.append(invalid(where, name, "doesn't follow extended resource name standard"))
    return errors


def validate_quota_name(name: str, where: Path) -> list[FieldError]:
    """A resource that quotas count."""
    errors = validate_name(name, where)
    if "/" not in name and not is_standard_quota(name):
        errors.append(invalid(where, name, "must be a standard resource for quota"))
    return errors


def validate_amount(name: str, text: str, where: Path) -> list[FieldError]:
    """An amount that fits its resource: not negative, and whole where things are counted."""
    amount = quantity.parse(text)
    errors = [invalid(where, text, NEGATIVE)] if amount.sign < 0 else []
    if _is_integer(name) and amount.milli_value % 1000:
        errors.append(invalid(where, text, NOT_INTEGER))
    return errors


def validate_positive(text: str, where: Path) -> list[FieldError]:
    """An amount above nothing."""
    return [] if quantity.parse(text).sign > 0 else [invalid(where, text, NOT_POSITIVE)]


def validate_basic(text: str, where: Path) -> list[FieldError]:
    """An amount that is not below nothing, by an older rule with other words."""
    value = quantity.parse(text).value
    return [invalid(where, value, "must be a valid resource quantity")] if value < 0 else []


def round_up(amounts: dict[str, str] | None) -> None:
    """Bring amounts up to whole thousandths, in place."""
    for name, text in (amounts or {}).items():
        if not _is_coarse(text):
            assert amounts is not None
            amounts[name] = _rounded(text)


@lru_cache(maxsize=1024)
def _rounded(text: str) -> str:
    amount = quantity.parse(text)
    return text if amount.exponent >= _MILLI else str(Quantity(amount.scaled(_MILLI), _MILLI, amount.format))


def is_equal(left: Mapping[str, str] | None, right: Mapping[str, str] | None) -> bool:
    """Whether two lists of amounts mean the same, however they are written."""
    left, right = left or {}, right or {}
    return left.keys() == right.keys() and all(
        text == right[name] or quantity.parse(text) == quantity.parse(right[name]) for name, text in left.items()
    )
