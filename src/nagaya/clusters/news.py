"""Whether a change is news. Most are not: objects count and date things in their status all the time.

If everything were news, n machines of one cluster would cause n times n looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from nagaya.api.kind import Object
from nagaya.kube.cache.change import Change
from nagaya.kube.contract_kinds import Definition

T = TypeVar("T", bound=Object)


def is_news(change: Change[T], facts: Callable[[T], object]) -> bool:
    """Whether an object came, went, or changed in what matters."""
    return change.old is None or change.new is None or facts(change.old) != facts(change.new)


def changed_kind(change: Change[Definition]) -> str:
    """The kind and group, as in `Kind.group`, that a CRD defines anew, differently, or no longer. Empty if it is no
    news."""
    if not is_news(change, lambda each: (each.spec, each.metadata.labels)):
        return ""
    spec = change.object.spec
    return f"{spec.names.kind}.{spec.group}"
