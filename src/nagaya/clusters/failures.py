"""Failures of one reconcile, of which only one can be raised.

A reconcile goes on when something fails, so that one object does not hold up the others, and raises at its end.
"""

from __future__ import annotations

from collections.abc import Sequence

from nagaya.kube.errors import Conflict


def worst(failures: Sequence[Exception], several: str) -> Exception:
    """What to raise: a conflict only if there is nothing worse, since it is retried without a word. `several` is what
    to say of more than one."""
    serious = [each for each in failures if not isinstance(each, Conflict)]
    if len(serious) > 1:
        return ExceptionGroup(several, serious)
    return (serious or failures)[0]
