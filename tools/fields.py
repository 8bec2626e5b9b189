"""Write the reference of all fields of all kinds, a page for each part, from the definitions themselves.

`make reference` runs it, and a test fails when the pages are not what it would write. What was told once is not told
again: a field with the same fields in it as another one before it leads there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

from nagaya.api.catalog import PARTS
from nagaya.api.crd import render
from nagaya.api.definition import Definition

PAGES: Final = Path(__file__).parents[1] / "docs/reference/fields"
MANY: Final = 6
"""Fields within a field that are not told twice."""

Schema: TypeAlias = Mapping[str, Any]


class Pages:
    """Writes pages in the order of the catalog, and knows what was told before."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def of(self, part: str, definitions: tuple[Definition, ...]) -> str:
        """The page of a part."""
        return "\n".join([*_head(part), *(line for each in definitions for line in self._kind(part, each))])

    def _kind(self, part: str, definition: Definition) -> Iterator[str]:
        kind = definition.kind.kind
        schema = render(definition)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        yield from ("", f"## {kind}", "", f"{_escaped(schema['description'])} [More](../kinds.md#{kind.lower()}).", "")
        yield from _rules(schema)
        yield from ("| field | type | meaning |", "|---|---|---|")
        for name in ("spec", "status"):
            if name in schema.get("properties", {}):
                required = name in schema.get("required", ())
                yield from self._rows(f"{part}.md#{kind.lower()}", kind, name, schema["properties"][name], required)

    def _rows(self, place: str, kind: str, name: str, schema: Schema, required: bool) -> Iterator[str]:
        path, inner = name, schema
        while (within := _within(inner)) is not None:
            path, inner = path + ("[]" if "items" in inner else ".*"), within
        fields = inner.get("properties", {})
        before = self._told.get(fingerprint := json.dumps(fields, sort_keys=True))
        known = before if before is not None and _count(inner) >= MANY else None
        meaning = [*_meaning(schema, required), *([] if known is None else [f"Its fields are those of {known}."])]
        yield f"| `{name}` | {_type(schema)} | {_escaped(' '.join(meaning))} |"
        if known is not None:
            return
        self._told[fingerprint] = f"[{kind} `{path}`]({place})"
        for each, field in fields.items():
            yield from self._rows(place, kind, f"{path}.{each}", field, each in inner.get("required", ()))


def _head(part: str) -> Iterator[str]:
    yield f"# Fields: {part}"
    yield ""
    yield (
        "Every field of every kind of this part, as `kubectl explain` tells them. `[]` are the items of a list,"
        " `.*` the values of a map. [All kinds](../kinds.md)."
    )


def _within(schema: Schema) -> Schema | None:
    """What a list or a map has in it, if that has fields."""
    found = schema.get("items", schema.get("additionalProperties"))
    return found if isinstance(found, Mapping) and (found.get("properties") or _within(found) is not None) else None


def _count(schema: Schema) -> int:
    fields = schema.get("properties", {}).values()
    return sum(1 + _count(each if (within := _within(each)) is None else within) for each in fields)


def _type(schema: Schema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "integer or string"
    if isinstance(items := schema.get("items"), Mapping):
        return f"list of {_type(items)}"
    if isinstance(values := schema.get("additionalProperties"), Mapping):
        return f"map of {_type(values)}"
    if schema.get("format") == "date-time":
        return "time"
    return str(schema.get("type", "anything"))


def _meaning(schema: Schema, required: bool) -> Iterator[str]:
    yield schema["description"]
    if required:
        yield "Required."
    single = schema["items"] if isinstance(schema.get("items"), Mapping) else schema
    if "enum" in single:
        yield f"One of {', '.join(f'`{each}`' for each in single['enum'])}."
    if "default" in schema:
        yield f"Default: `{json.dumps(schema['default'])}`."
    for least, most, what in (
        ("minimum", "maximum", ""),
        ("minItems", "maxItems", " items"),
        ("minLength", "maxLength", " characters"),
        ("minProperties", "maxProperties", " entries"),
    ):
        yield from _limits(schema.get(least), schema.get(most), what)
    if "pattern" in schema:
        yield f"Matches `{schema['pattern']}`."
    yield from (f"Rule: {_rule(each)}." for each in schema.get("x-kubernetes-validations", ()))


def _limits(least: object, most: object, what: str) -> Iterator[str]:
    if least is not None and most is not None:
        yield f"From {least} to {most}{what}."
    elif least == 1 and what:
        yield "Not empty."
    elif least is not None:
        yield f"At least {least}{what}."
    elif most is not None:
        yield f"At most {most}{what}."


def _rules(schema: Schema) -> Iterator[str]:
    for each in schema.get("x-kubernetes-validations", ()):
        yield from (_escaped(f"Rule: {_rule(each)}."), "")


def _rule(rule: Mapping[str, str]) -> str:
    return rule.get("message", f"`{rule['rule']}`").removesuffix(".")


def _escaped(text: str) -> str:
    """In a table a bar ends a cell, even within backticks."""
    return " ".join(text.split()).replace("|", r"\|")


def pages() -> dict[Path, str]:
    """What each page is to say."""
    made = Pages()
    return {PAGES / f"{part}.md": made.of(part, tuple(definitions)) + "\n" for part, definitions in PARTS.items()}


def main() -> int:
    """Write the pages, or say which are not as they should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page would change")
    check: bool = parser.parse_args().check
    wanted = pages()
    stale = [page for page, text in wanted.items() if not page.is_file() or page.read_text() != text]
    foreign = [page for page in PAGES.glob("*.md") if page not in wanted]
    for page in [*stale, *foreign]:
        print(page.name)
    if check:
        return 1 if stale or foreign else 0
    PAGES.mkdir(exist_ok=True)
    for page in stale:
        page.write_text(wanted[page])
    for page in foreign:
        page.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
