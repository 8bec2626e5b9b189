from __future__ import annotations

from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nagaya.simulators.proxmox.failure import Unanswered
from nagaya.simulators.proxmox.front.parameters import Unreadable, content_type, of_form, of_request, of_upload

FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json; charset=utf-8"}


def test_a_name_given_twice_has_a_list() -> None:
    assert of_form("a=1&b=2;a=3&a=4") == {"a": ["1", "3", "4"], "b": "2"}


def test_a_name_without_a_value_has_none() -> None:
    assert of_form("a&b=") == {"a": None, "b": ""}


def test_bytes_that_are_no_text_are_replaced() -> None:
    assert of_form("a=%FF%FE&b=%C3%BC+%2B") == {"a": "��", "b": "ü +"}


@given(st.dictionaries(st.text(min_size=1), st.text(min_size=1), max_size=5))
def test_what_is_encoded_comes_out_again(parameters: dict[str, str]) -> None:
    assert of_form(urlencode(parameters)) == parameters


def test_the_query_wins_over_the_body_and_the_cache_buster_is_dropped() -> None:
    assert of_request("PUT", "a=2&_dc=9", FORM, b"a=1&b=1") == {"a": "2", "b": "1"}


def test_only_what_changes_something_has_a_body() -> None:
    assert of_request("DELETE", "a=1", FORM, b"b=1") == {"a": "1"}


def test_json_keeps_its_kinds() -> None:
    found = of_request("POST", "", JSON, b'{"a":true,"b":[1,"x"],"c":null,"d":{"e":1}}')
    assert found == {"a": True, "b": [1, "x"], "c": None, "d": {"e": 1}}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"[1]", "Not a HASH reference at"),
        (b"true", "Not a HASH"),
        (b"", "malformed JSON string"),
        (b"5", 'Can\'t use string ("5") as a HASH'),
    ],
)
def test_json_that_is_no_object_is_a_plain_500(body: bytes, text: str) -> None:
    with pytest.raises(Unreadable) as failure:
        of_request("PUT", "", JSON, body)
    assert failure.value.status == 500
    assert failure.value.text.startswith(text)


def parts(*fields: tuple[str, str | None, bytes]) -> bytes:
    """A body of several parts: name, name of a file, content."""
    found = b"preamble\r\n"
    for name, filename, value in fields:
        disposition = f'form-data; name="{name}"' + (f'; filename="{filename}"' if filename else "")
        found += f"--xyz\r\nContent-Disposition: {disposition}\r\n\r\n".encode() + value + b"\r\n"
    return found + b"--xyz--\r\n"


FILES = {"content-type": "multipart/form-data; boundary=xyz"}


def test_a_file_comes_with_the_fields_before_it() -> None:
    body = parts(
        ("content", None, b"iso"),
        ("checksum-algorithm", None, b"md5"),
        ("checksum", None, b"abc"),
        ("filename", "a.iso", b"\r\n--xy\r\n\0data"),
    )
    found = of_upload("q=1", FILES, body)
    assert found.content == b"\r\n--xy\r\n\0data"
    assert found.fields == {
        "q": "1",
        "content": "iso",
        "checksum-algorithm": "md5",
        "checksum": "abc",
        "filename": "a.iso",
    }


def test_a_field_behind_the_file_is_taken_for_a_part_of_it() -> None:
    found = of_upload("", FILES, parts(("filename", "a.iso", b"data"), ("content", None, b"iso")))
    assert found.fields == {"filename": "a.iso"}
    assert found.content.startswith(b"data\r\n--xyz\r\nContent-Disposition")


def test_a_file_whose_part_begins_with_another_header_is_not_found() -> None:
    body = b'--xyz\r\nContent-Type: a/b\r\nContent-Disposition: form-data; name="filename"; filename="a"\r\n\r\nx'
    with pytest.raises(Unreadable, match="upload failed"):
        of_upload("", FILES, body + b"\r\n--xyz--\r\n")


def test_headers_behind_the_disposition_of_a_file_are_no_part_of_it() -> None:
    body = b'--xyz\r\nContent-Disposition: form-data; name="filename"; filename="a"\r\nContent-Type: a/b\r\n\r\nx\n\ny'
    assert of_upload("", FILES, body + b"\r\n--xyz--\r\n").content == b"x\n\ny"


def test_a_disposition_that_is_none_of_a_form_is_refused() -> None:
    body = b'--xyz\r\nContent-Disposition: attachment; name="filename"; filename="a"\r\n\r\nx\r\n--xyz--\r\n'
    with pytest.raises(Unreadable, match="wrong Content-Disposition 'attachment' in multipart"):
        of_upload("", FILES, body)


def test_fields_in_another_order_are_misread() -> None:
    body = parts(("checksum", None, b"x"), ("content", None, b"iso"), ("filename", "a", b"d"))
    with pytest.raises(Unreadable, match='wrong Content-Disposition \'form-data; name="checksum"'):
        of_upload("", FILES, body)


def test_a_file_under_another_name_is_refused_with_pves_words() -> None:
    with pytest.raises(Unreadable) as failure:
        of_upload("", FILES, parts(("file", "a.iso", b"x")))
    assert failure.value.text.startswith("wrong field name 'file' for file upload, expected 'filename' at ")


def test_a_form_without_a_file_is_refused() -> None:
    with pytest.raises(Unreadable, match="upload failed"):
        of_upload("", FILES, parts(("content", None, b"iso")))


def test_an_upload_that_is_no_form_of_several_parts_gets_no_answer() -> None:
    with pytest.raises(Unanswered):
        of_upload("", FORM, b"content=iso")


def test_the_boundary_is_found_among_attributes() -> None:
    assert content_type("multipart/form-data; charset=utf-8; boundary=abc ") == ("multipart/form-data", "abc")
    assert content_type(None) == (None, None)
