from __future__ import annotations

import pytest

from nagaya.apiserver.meta.status import ApiError
from nagaya.apiserver.web import negotiation
from nagaya.apiserver.web.negotiation import Wanted
from nagaya.apiserver.web.request import Request
from support.subtest_cases import subtest_cases

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def wanted(accept: str, agent: str = "test/1", target: str = "/api", **options: bool) -> Wanted:
    headers = {"Accept": accept, "User-Agent": agent} if accept else {"User-Agent": agent}
    return negotiation.output(Request.make("GET", target, headers=headers), **options)


@subtest_cases(
    ("accept", "media_type", "transform"),
    [
        ("", "application/json", ""),
        ("*/*", "application/json", ""),
        ("application/*", "application/json", ""),
        ("application/yaml", "application/yaml", ""),
        ("application/json;q=0.5, application/yaml", "application/yaml", ""),
        ("application/vnd.kubernetes.protobuf, application/json", "application/json", ""),
        (f"{TABLE},application/json", "application/json", "Table"),
        ("application/json;as=Nope;v=v1;g=meta.k8s.io,application/json", "application/json", ""),
        ("application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json", "PartialObjectMetadata"),
    ],
)
def test_the_best_form_that_can_be_sent_is_chosen(accept: str, media_type: str, transform: str) -> None:
    found = wanted(accept)
    assert (found.media_type, found.transform) == (media_type, transform)


@pytest.mark.parametrize("accept", ["text/html", "application/vnd.kubernetes.protobuf", "image/png, text/plain"])
def test_a_client_that_accepts_nothing_we_have_is_told_what_there_is(accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        wanted(accept)
    assert refused.value.code == 406
    assert "application/json, application/yaml" in refused.value.message


@pytest.mark.parametrize("accept", ["application/*", "*", "*/json", "Application/JSON", "text/plain, application/*"])
def test_a_path_with_media_types_of_its_own_takes_names_literally(accept: str) -> None:
    with pytest.raises(ApiError) as refused:
        negotiation.check_listed(Request.make("GET", "/version", headers={"Accept": accept}), (negotiation.JSON,))
    assert refused.value.code == 406
    assert refused.value.message == "406: Not Acceptable\n\nAvailable representations: application/json"


@pytest.mark.parametrize("accept", ["", "*/*", "application/json;as=Table", "text/plain, */*;q=0.1"])
def test_a_path_with_media_types_of_its_own_is_found_by_any_of_them(accept: str) -> None:
    headers = {"Accept": accept} if accept else {}
    negotiation.check_listed(Request.make("GET", "/version", headers=headers), (negotiation.JSON, negotiation.YAML))


def test_a_kind_without_tables_refuses_them() -> None:
    with pytest.raises(ApiError) as refused:
        wanted(TABLE, tables=False)
    assert refused.value.message.startswith("only the following media types are accepted")


@pytest.mark.parametrize(
    ("agent", "target", "pretty"),
    [
        ("curl/8", "/api", True),
        ("curl/8", "/api?pretty=false", False),
        ("kubectl/v1.36", "/api", False),
        ("kubectl/v1.36", "/api?pretty=true", True),
    ],
)
def test_people_get_indented_answers(agent: str, target: str, pretty: bool) -> None:
    assert wanted("", agent, target).pretty is pretty


def test_a_body_without_a_content_type_is_json() -> None:
    assert negotiation.input_type("", negotiation.BUILTIN_TYPES) == "application/json"
    assert negotiation.input_type("application/yaml; charset=utf-8", negotiation.CUSTOM_TYPES) == "application/yaml"


def test_a_body_in_an_unknown_form_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ApiError) as refused:
        negotiation.input_type("text/plain", negotiation.CUSTOM_TYPES)
    assert refused.value.code == 415
    assert refused.value.message.endswith("application/json, application/yaml")
