"""Objects as Go shows its internal types."""

from nagaya.apiserver.builtins.kinds.core_goshape import difference, duplicate_shape, invalid_shape, shape

SHAPE = shape("Name=name:s Count=count:i Open=open:b Labels=labels:p Inner=inner:{Key=key:s} Other=other:*{Key=key:s}")


def test_every_field_is_written_in_gos_order() -> None:
    assert list(SHAPE.of({"open": True, "name": "a"}).items()) == [
        ("Name", "a"),
        ("Count", 0),
        ("Open", True),
        ("Labels", None),
        ("Inner", {"Key": ""}),
        ("Other", None),
    ]


def test_lists_of_structs_are_shown_too() -> None:
    listed = shape("Items=items:[Key=key:s]")
    assert listed.of({"items": [{"key": "a"}, {}]}) == {"Items": [{"Key": "a"}, {"Key": ""}]}
    assert listed.of({}) == {"Items": None}


def test_findings_show_the_value() -> None:
    kind = shape("Key=key:s")
    assert str(invalid_shape("x", kind, {"key": "<"}, "is bad")) == 'x: Invalid value: {"Key":"\\u003c"}: is bad'
    assert str(duplicate_shape("x", kind, {})) == 'x: Duplicate value: {"Key":""}'
    assert str(duplicate_shape("x", kind, {}, "why")) == 'x: Duplicate value: {"Key":""}: why'


def test_a_difference_has_three_lines_of_context() -> None:
    kind = shape(" ".join(f"F{number}=f{number}:s" for number in range(9)))
    assert difference(kind, {"f4": "a"}, {"f4": "b"}) == (
        "@@ -3,7 +3,7 @@\n"
        '  "F1": "",\n'
        '  "F2": "",\n'
        '  "F3": "",\n'
        '- "F4": "a",\n'
        '+ "F4": "b",\n'
        '  "F5": "",\n'
        '  "F6": "",\n'
        '  "F7": "",\n'
    )


def test_maps_are_shown_with_their_keys_in_order() -> None:
    assert list(SHAPE.of({"labels": {"b": "1", "a": "2"}})["Labels"]) == ["a", "b"]


def test_the_first_change_of_a_very_long_value_is_shown() -> None:
    names = shape("Names=names:p")
    old = [f"name{number}" for number in range(20_000)]
    new = [f"{name}x" if number >= 10_000 else name for number, name in enumerate(old)]

    assert difference(names, {"names": old}, {"names": new}) == (
        '@@ -10003 +10003 @@\n-  "name10000",\n+  "name10000x",\nfurther changes are not shown\n'
    )
    assert difference(names, {"names": old}, {"names": old}) == ""
