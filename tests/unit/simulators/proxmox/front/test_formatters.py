from __future__ import annotations

import orjson

from nagaya.simulators.proxmox.calls.call import Total
from nagaya.simulators.proxmox.front.formatters import FORMATTERS, Result

FAILED = Result(400, "Parameter verification failed.\n", None, {"memory": "no"})


def test_json_says_in_the_status_line_what_went_wrong() -> None:
    answer = FORMATTERS["json"](FAILED)
    assert (answer.status, answer.reason) == (400, "Parameter verification failed.")
    assert orjson.loads(answer.body) == {
        "data": None,
        "errors": {"memory": "no"},
        "message": "Parameter verification failed.\n",
    }


def test_extjs_always_succeeds_and_says_in_the_body_that_it_did_not() -> None:
    answer = FORMATTERS["extjs"](FAILED)
    assert (answer.status, answer.reason) == (200, "OK")
    assert orjson.loads(answer.body)["success"] == 0
    assert orjson.loads(answer.body)["status"] == 400
    assert orjson.loads(FORMATTERS["extjs"](Result(data=[1])).body) == {"data": [1], "success": 1}


def test_a_part_of_a_list_says_how_many_there_are_but_not_that_there_are_none() -> None:
    assert orjson.loads(FORMATTERS["json"](Result(data=Total([1], 7))).body) == {"data": [1], "total": 7}
    assert orjson.loads(FORMATTERS["json"](Result(data=Total([], 0))).body) == {"data": []}


def test_htmljs_is_escaped_for_a_page() -> None:
    answer = FORMATTERS["htmljs"](Result(data="<b>"))
    assert answer.content_type == "text/html;charset=UTF-8"
    assert b"&lt;b&gt;" in answer.body
    assert b"&quot;success&quot;:1" in answer.body


def test_html_shows_the_result_on_a_page() -> None:
    assert b"&lt;script&gt;" in FORMATTERS["html"](Result(data="<script>")).body


def test_spiceconfig_writes_only_what_has_names() -> None:
    assert FORMATTERS["spiceconfig"](Result(data={"a": 1, "b": None})).body == b"[virt-viewer]\na=1\n"
    assert FORMATTERS["spiceconfig"](Result(data=[1])).body == b""


def test_htmljs_names_characters_as_pages_do() -> None:
    assert FORMATTERS["htmljs"](Result(data="it's ü & \u0142")).body.startswith(
        b"{&quot;data&quot;:&quot;it&#39;s &uuml; &amp; &#x142;&quot;"
    )
