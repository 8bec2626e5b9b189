from __future__ import annotations

from nagaya.wire.remembered import LONGEST, remember_short


def test_long_texts_are_computed_and_not_kept() -> None:
    calls: list[str] = []

    @remember_short(8)
    def upper(text: str) -> str:
        calls.append(text)
        return text.upper()

    short, long = "a" * LONGEST, "a" * (LONGEST + 1)
    assert [upper(each) for each in (short, short, long, long)] == [each.upper() for each in (short, short, long, long)]
    assert calls == [short, long, long]
