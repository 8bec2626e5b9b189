from __future__ import annotations

import pytest

from nagaya.apiserver.crd import urls
from support.subtest_cases import subtest_cases


def test_a_url_is_taken_apart() -> None:
    assert urls.parse("HTTPS://u:p@host:80/a/b?q=1#f") == urls.Url(
        scheme="https", user="u:p", host="host:80", path="/a/b", query="q=1", fragment="f"
    )
    assert urls.parse("mailto:a@b").opaque == "a@b"
    assert urls.parse("//host/p").host == "host"


@subtest_cases(
    ("text", "problem"),
    [
        (":x", 'parse ":x": missing protocol scheme'),
        ("http://a b/", 'parse "http://a b/": invalid character " " in host name'),
        ("http://a:b/", 'parse "http://a:b/": invalid port ":b" after host'),
        ("http://[::1/", "parse \"http://[::1/\": missing ']' in host"),
        ("http://[1.2.3.4]/", 'parse "http://[1.2.3.4]/": invalid IP-literal'),
        ("/%zz", 'parse "/%zz": invalid URL escape "%zz"'),
        ("http://%41/", 'parse "http://%41/": invalid URL escape "%41"'),
        ("a b:c", 'parse "a b:c": first path segment in URL cannot contain colon'),
        ("http://h/\x01", 'parse "http://h/\\x01": net/url: invalid control character in URL'),
    ],
)
def test_what_is_no_url_is_refused_in_gos_words(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        urls.parse(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [("", 'parse "": empty url'), ("foo", 'parse "foo": invalid URI for request')],
)
def test_a_request_needs_more_than_a_relative_path(text: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        urls.parse_request(text)
    assert str(caught.value) == problem
    assert urls.parse_request("/foo").path == "/foo"
