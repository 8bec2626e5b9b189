"""When two JSON values are the same to the merge algorithm."""

from __future__ import annotations

from typing import Any

import orjson


def same(left: Any, right: Any) -> bool:
    """Whether two values are equal. Unlike in Python, `True` is not 1; like in Python, 1 is 1.0."""
    if left is right:
        return True
    if left != right:
        return False
    kind = left.__class__
    if kind is not dict and kind is not list:
        return (kind is bool) is (right.__class__ is bool)
    # Equal to Python. Left to find out is whether a boolean equals a number somewhere, which the same text excludes.
    try:
        if orjson.dumps(left) == orjson.dumps(right):
            return True
    except orjson.JSONEncodeError:
        pass  # a number that has no place in JSON texts can still be compared
    if kind is dict:
        return all(same(value, right[key]) for key, value in left.items())
    return all(map(same, left, right))
