"""Values as Perl sees them: everything that is no array and no object is a string.

A form has only strings; a value that is given twice becomes an array. JSON brings numbers, which PVE turns into strings
after it has verified them, and booleans, which are objects of a class of their own until then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Value = str | int | float | bool | None | Sequence["Value"] | Mapping[str, "Value"]


def is_true(text: str | None) -> bool:
    """Whether Perl holds a string true."""
    return text not in (None, "", "0")


def number_text(number: int | float) -> str:
    """A number as Perl prints it."""
    if isinstance(number, int) or (number.is_integer() and abs(number) < 1e15):
        return str(int(number))
    return f"{number:.15g}"


def text_of(value: Value) -> str | None:
    """What Perl compares when it compares texts; an array or object is like no text."""
    if isinstance(value, bool | int | float):
        return number_text(value)
    if value is None:
        return ""
    return value if isinstance(value, str) else None


def reference(value: Value) -> str | None:
    """What Perl calls the kind of a value that is no string and no number."""
    if isinstance(value, bool):
        return "JSON::PP::Boolean"
    if isinstance(value, Mapping):
        return "HASH"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "ARRAY"
    return None


def split_list(text: str) -> list[str]:
    """The items of a list, which commas, semicolons and blanks separate, or NUL alone if there is one."""
    if "\0" in text:
        items = text.split("\0")
        while items and not items[-1]:
            items.pop()
        return items
    return text.replace(",", " ").replace(";", " ").split()
