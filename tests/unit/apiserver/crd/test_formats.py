from __future__ import annotations

import pytest

from nagaya.apiserver.crd import formats
from support.subtest_cases import subtest_cases

_VALID = {
    "date": ["2020-02-29", "0000-01-01"],
    "date-time": ["2020-01-01T00:00:00Z", "2020-01-01t00:00:00.5+01:00", "2020-12-31T23:59:59Z"],
    "byte": ["Zm9v", "Zg=="],
    "password": ["", "anything"],
    "duration": ["1h30m", "-1.5h", "3 weeks", "1d", "0"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
    "uuid3": ["123e4567-e89b-32d3-a456-426614174000"],
    "uuid4": ["123e4567-e89b-42d3-a456-426614174000"],
    "uuid5": ["123e4567-e89b-52d3-a456-426614174000"],
    "cidr": ["10.0.0.1/8", "::/0", "010.0.0.0/8"],
    "ipv4": ["10.0.0.1", "010.0.0.1", "::ffff:1.2.3.4"],
    "ipv6": ["::1", "::ffff:1.2.3.4"],
    "mac": ["00:00:5e:00:53:01", "0000.5e00.5301", "00005e005301"],
    "hostname": ["a.b.example", "foo", "xn--a.com"],
    "email": ["a@b", "A B <a@b.c>", '"x y"@b'],
    "uri": ["http://a/b", "/a", "mailto:x", "http://[::1]:1/"],
    "isbn": ["0321751043", "978-0321751041"],
    "creditcard": ["4220-8554-2622-2389"],
    "ssn": ["123-45-6789"],
    "hexcolor": ["#fff", "FFFFFF"],
    "rgbcolor": ["rgb( 1 , 2 , 255 )"],
    "bsonobjectid": ["507f1f77bcf86cd799439011"],
    "k8s-short-name": ["a-b", "0"],
    "k8s-long-name": ["a-b.c"],
}
_INVALID = {
    "date": ["2021-02-29", "2020-1-01", "2020-13-01"],
    "date-time": ["2020-01-01T24:00:00Z", "2020-01-01T00:00:00", "2021-02-29T00:00:00Z", "2020-01-01"],
    "byte": ["", "Zm9", "a b="],
    "duration": ["", "x", "5"],
    "uuid": ["123"],
    "uuid4": ["123e4567-e89b-12d3-a456-426614174000"],
    "cidr": ["10.0.0.0/33", "10.0.0.0"],
    "ipv4": ["::1", "1.2.3"],
    "ipv6": ["1.2.3.4", "fe80::1%eth0"],
    "mac": ["00:00:5e:00:53", "00:00-5e:00:53:01"],
    "hostname": ["foo_bar", "-a", "a" * 64, ""],
    "email": ["a", "a@", "a b@c", "a..b@c"],
    "uri": ["", "a", "http://a b/"],
    "isbn": ["0321751044", "x"],
    "creditcard": ["4220855426213389"],
    "ssn": ["123456789"],
    "hexcolor": ["#ggg"],
    "rgbcolor": ["rgb(300,1,1)"],
    "k8s-short-name": ["A", "a.b", "-a", "a" * 64],
    "k8s-long-name": ["A.", "a..b"],
}


@subtest_cases(("name", "text"), [(name, text) for name, texts in _VALID.items() for text in texts])
def test_a_text_of_the_format_is_accepted(name: str, text: str) -> None:
    check = formats.check_for(name)
    assert check is not None
    assert check(text)


@subtest_cases(("name", "text"), [(name, text) for name, texts in _INVALID.items() for text in texts])
def test_a_text_of_another_form_is_refused(name: str, text: str) -> None:
    check = formats.check_for(name)
    assert check is not None
    assert not check(text)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("part", ["1", "a", "a.", " ", "1 ", '"a', "(", "%", ":", "-", "@b."])
def test_no_text_takes_a_format_longer_than_in_proportion(part: str) -> None:
    text = part * (200_000 // len(part))
    for name in _VALID:
        check = formats.check_for(name)
        assert check is not None
        check(text)


def test_a_format_counts_only_for_its_type() -> None:
    assert formats.means_something("date-time", "string")
    assert formats.means_something("datetime", "")
    assert formats.means_something("int32", "integer")
    assert formats.means_something("double", "number")
    assert not formats.means_something("int32", "string")
    assert not formats.means_something("int8", "integer")
    assert not formats.means_something("date", "object")
    assert formats.check_for("nonsense") is None
