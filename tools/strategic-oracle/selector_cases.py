"""Random selectors with labels and fields to select from, and random durations."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from oracle import Oracle

from nagaya.apiserver.meta import durations
from nagaya.apiserver.selectors import fields, labels
from nagaya.apiserver.selectors.requirement import SelectorError

_LABEL_PARTS = [
    "a",
    "b/c",
    "in",
    "notin",
    " ",
    ",",
    "=",
    "==",
    "!=",
    "!",
    "(",
    ")",
    "<",
    ">",
    "1",
    "x y",
    "é",
    "-",
    "a.b/c_d",
]


def labels_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    if source.random() < 0.5:
        text = "".join(source.choices(_LABEL_PARTS, k=source.randrange(1, 10)))
    else:
        text = ",".join(
            source.choice(
                [
                    "a=b",
                    "a!=b",
                    "a in (b,c)",
                    "a notin (1, 2)",
                    "!a",
                    "a",
                    "a>1",
                    "a<3",
                    "a==b",
                    "a=",
                    "in in ()",
                    "a in (,)",
                ]
            )
            for _ in range(source.randrange(1, 4))
        )
    having = {
        key: source.choice(["b", "c", "1", "2", "5", ""])
        for key in source.sample(["a", "in", "x"], source.randrange(3))
    }
    try:
        selector = labels.parse(text)
        ours: Any = {"text": str(selector), "matches": selector.matches(having)}
    except SelectorError as error:
        ours = {"error": str(error)}
    return (text, having), lambda: oracle.ask("labels", text=text, labels=having), ours


def fields_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    text = "".join(
        source.choices(
            ["a", "b.c", "=", "==", "!=", ",", "\\", "\\,", "\\=", "\\\\", " ", "x"], k=source.randrange(1, 8)
        )
    )
    having = {key: source.choice(["a", "x", "", ","]) for key in source.sample(["a", "b.c", ""], source.randrange(3))}
    try:
        selector = fields.parse(text)
        ours: Any = {"text": str(selector), "matches": selector.matches(having)}
    except SelectorError as error:
        ours = {"error": str(error)}
    return (text, having), lambda: oracle.ask("fields", text=text, labels=having), ours


def duration_case(oracle: Oracle, source: random.Random) -> tuple[Any, Callable[[], Any], Any]:
    seconds = round(10 ** source.uniform(-1, 10.5), 1) * source.choice([1, 1, 1, 1, -1])
    nanos = max(min(int(seconds * 10) * 100_000_000, 2**63 - 1), -(2**63))
    return nanos, lambda: oracle.ask("duration", nanos=nanos), {"text": durations.human(nanos / 1e9)}
