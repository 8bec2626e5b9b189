from __future__ import annotations

from nagaya.apiserver.crd.selectable import SelectableFields


def test_selectable_fields_are_given_as_text() -> None:
    fields = SelectableFields([{"jsonPath": f".spec.{name}"} for name in ("color", "size", "hot", "gone", "none")])
    assert fields.names == {"spec.color", "spec.size", "spec.hot", "spec.gone", "spec.none"}
    assert fields.values({"spec": {"color": "red", "size": 3, "hot": True, "none": None}}) == {
        "spec.color": "red",
        "spec.size": "3",
        "spec.hot": "true",
        "spec.gone": "",
        "spec.none": "",
    }


def test_an_object_of_another_shape_has_empty_fields() -> None:
    assert SelectableFields([{"jsonPath": ".spec.color"}]).values({"spec": "text"}) == {"spec.color": ""}
