"""Translation of Container Linux Config beyond what is recorded from the original: what is refused, and with strict."""

from __future__ import annotations

import pytest

from nagaya.bootstrap.ignition.container_linux import translated
from nagaya.bootstrap.refusal import Refused
from support.subtest_cases import subtest_cases


@subtest_cases(
    ("config", "place"),
    [
        ("etcd: {version: 3.0.0}", "etcd: it is not supported as a service"),
        ("flannel: {}", "flannel"),
        ("storage: {files: [{path: /a, contents: {local: x}}]}", r"storage\.files\[0\]\.contents\.local"),
        ("storage: {files: [{path: a}]}", r"storage\.files\[0\]\.path"),
        ("storage: {files: [{contents: {inline: x}}]}", r"storage\.files\[0\]\.path"),
        ("storage: {files: [{path: /a, mode: 99999}]}", r"storage\.files\[0\]\.mode"),
        ("storage: {files: [{path: /a, append: true, overwrite: true}]}", r"storage\.files\[0\]"),
        ("storage: {files: [{path: /a, contents: {inline: x, remote: {url: 'http://a'}}}]}", r"files\[0\]\.contents"),
        ("storage: {files: [{path: /a, contents: {remote: {url: 'ftp://a'}}}]}", r"contents\.remote\.url"),
        ("storage: {files: {path: /a}}", r"storage\.files: it is no list"),
        ("storage: []", "storage: it is no mapping"),
        ("storage: {disks: [{device: /a, partitions: [{size: 1KiB}]}]}", r"partitions\[0\]\.size: Ignition counts"),
        ("storage: {disks: [{device: /a, partitions: [{size: big}]}]}", r"partitions\[0\]\.size: it is no size"),
        ("storage: {disks: [{device: /a, partitions: [{type_guid: x}]}]}", r"partitions\[0\]\.type_guid"),
        ("storage: {filesystems: [{name: a}]}", r"filesystems\[0\]: it needs one of mount and path"),
        ("storage: {filesystems: [{mount: {device: /a, format: zfs}}]}", r"filesystems\[0\]\.mount\.format"),
        ("storage: {filesystems: [{mount: {device: /a}}]}", r"filesystems\[0\]\.mount\.format: it is missing"),
        (
            "storage: {filesystems: [{mount: {device: /a, format: xfs, label: aaaaaaaaaaaaa}}]}",
            r"mount\.label: it is too long for xfs",
        ),
        ("storage: {raid: [{name: a, level: raid7, devices: [/a]}]}", r"raid\[0\]\.level"),
        ("systemd: {units: [{name: a}]}", r"systemd\.units\[0\]\.name"),
        ("systemd: {units: [{name: a.service, enabled: maybe}]}", r"systemd\.units\[0\]\.enabled"),
        ("systemd: {units: [{name: a.service, dropins: [{name: x}]}]}", r"dropins\[0\]\.name"),
        ("networkd: {units: [{name: a.service}]}", r"networkd\.units\[0\]\.name"),
        ("passwd: {users: [{name: a, uid: x}]}", r"passwd\.users\[0\]\.uid"),
        ("passwd: {users: [{name: a, shell: /a, create: {uid: 1}}]}", r"passwd\.users\[0\]\.create"),
        ("locksmith: {window_start: '03:00'}", "locksmith: window_start and window_length belong together"),
        ("version: 1", "version"),
        ("a: [", "it is not YAML"),
        ("just text", "it is no mapping"),
        ("passwd: {users: [&a {name: a}, *a]}", "there is an alias at line 1"),
        ("passwd: &a {users: [*a]}", "there is an alias at line 1"),
        ("a: !!python/object:os.system x", "it is not YAML"),
        ("a: b\nc: ]\nd: e", "it is not YAML at line 2"),
    ],
)
def test_what_cannot_be_translated_is_refused_by_name(config: str, place: str) -> None:
    with pytest.raises(Refused, match=rf"^spec\.ignition\.containerLinuxConfig\.additionalConfig: .*{place}"):
        translated(config, strict=False)


@subtest_cases(
    ("config", "place"),
    [
        ("unknown: x", "unknown: there is no such field"),
        ("storage: {files: [{path: /a, mode: 0644, colour: red}]}", r"storage\.files\[0\]\.colour"),
        ("storage: {files: [{path: /a}]}", r"storage\.files\[0\]\.mode"),
        ("storage: {directories: [{path: /a}]}", r"storage\.directories\[0\]\.mode"),
        ("storage: {files: [{path: /a, mode: 0644, filesystem: b}]}", r"storage\.files\[0\]\.filesystem"),
        ("systemd: {units: [{name: a.service, enabled: true, contents: '[Unit]'}]}", r"units\[0\]\.contents"),
        ("passwd: {users: [{name: a, create: {uid: 1}}]}", r"users\[0\]\.create: it is deprecated"),
        ("storage: {filesystems: [{mount: {device: /a, format: xfs, create: {}}}]}", r"mount\.create"),
        ("# nothing", "it is empty"),
    ],
)
def test_strict_refuses_what_is_passed_over_otherwise(config: str, place: str) -> None:
    translated(config, strict=False)
    with pytest.raises(Refused, match=place):
        translated(config, strict=True)


def test_modes_have_defaults_and_may_be_written_in_newer_yaml() -> None:
    config = "storage: {files: [{path: /a}, {path: /b, mode: 0o600}], directories: [{path: /c}], links: [{path: /d}]}"
    storage = translated(config, strict=False)["storage"]
    assert [each["mode"] for each in storage["files"]] == [0o644, 0o600]
    assert storage["directories"][0]["mode"] == 0o755
    assert "mode" not in storage["links"][0]


def test_words_are_what_their_field_wants() -> None:
    config = """
        locksmith: {reboot_strategy: off}
        systemd: {units: [{name: a.service, mask: yes, contents: 2026-01-02}]}
        passwd: {users: [{name: 1e3, uid: 0x10, system: off, gecos: "null"}], groups: [{name: on, gid: 1_000}]}
    """
    found = translated(config, strict=True)
    assert found["storage"]["files"][0]["contents"]["source"] == "data:,REBOOT_STRATEGY%3D%22off%22"
    assert found["systemd"]["units"] == [{"name": "a.service", "mask": True, "contents": "2026-01-02"}]
    assert found["passwd"] == {
        "users": [{"name": "1e3", "uid": 16, "system": False, "gecos": "null"}],
        "groups": [{"name": "on", "gid": 1000}],
    }


def test_what_is_null_is_left_out() -> None:
    assert translated("storage:\nsystemd: {units: [{name: a.service, contents: }]}", strict=True) == {
        "systemd": {"units": [{"name": "a.service"}]}
    }


def test_a_refusal_does_not_repeat_contents() -> None:
    with pytest.raises(Refused) as refused:
        translated("passwd: {users: [{name: a, password_hash: [secret]}]}", strict=False)
    assert "secret" not in str(refused.value)
