from __future__ import annotations

import pytest

from nagaya.addons.resource_set.manifests import objects_in
from nagaya.api.conversion.manifests import ManifestError


def names(*texts: bytes) -> list[str]:
    return [
        f"{each.kind} {each.metadata.name}"
        for each in objects_in((f"text {number}", text) for number, text in enumerate(texts))
    ]


def document(kind: str, name: str) -> bytes:
    return f"apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {name}\n".encode()


def test_documents_of_yaml_are_sorted_by_what_others_need() -> None:
    text = b"---\n".join(document(kind, "it") for kind in ("Deployment", "Service", "ConfigMap", "Secret", "Namespace"))
    assert names(text) == ["Namespace it", "Secret it", "ConfigMap it", "Deployment it", "Service it"]


def test_texts_keep_their_order_whatever_is_in_them() -> None:
    assert names(document("Deployment", "first"), document("Namespace", "second")) == [
        "Deployment first",
        "Namespace second",
    ]


def test_empty_documents_are_skipped() -> None:
    assert names(b"---\n---\n" + document("Secret", "a") + b"---\n# nothing\n") == ["Secret a"]


def test_a_list_in_json_is_taken_apart() -> None:
    one = b'{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}}'
    two = b'{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "b"}}'
    assert names(b"\n [" + one + b"," + two + b"]") == ["Namespace b", "Service a"]


def test_json_may_be_indented_with_tabs() -> None:
    assert names(b'{\n\t"apiVersion": "v1",\n\t"kind": "Pod",\n\t"metadata": {"name": "a"}\n}') == ["Pod a"]


def test_several_documents_of_json_are_read_as_yaml() -> None:
    one = b'{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}'
    assert names(one + b"\n---\n" + one) == ["Pod a", "Pod a"]


def test_the_items_of_a_list_object_are_objects() -> None:
    text = b"apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: a}\n"
    assert names(text) == ["Pod a"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"[{]", "not a list of objects in JSON"),
        (b"a: [", "not YAML"),
        (b"just words", "no kind"),
        (b"kind: Pod\nmetadata: {name: a}\n", "no apiVersion"),
        (b"apiVersion: v1\nkind: Pod\n", "no name"),
        (b"apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: [1]}\n", "unusable metadata"),
        (b'[{"apiVersion": "v1", "metadata": {"name": "a"}}]', "no kind"),
    ],
)
def test_what_is_no_manifest_is_refused_with_the_name_of_its_text(text: bytes, why: str) -> None:
    with pytest.raises(ManifestError, match=why) as error:
        names(text)
    assert "text 0" in str(error.value)
