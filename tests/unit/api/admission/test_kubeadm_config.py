from __future__ import annotations

from typing import Any

import pytest

from nagaya.api.admission.kubeadm_config import validate
from nagaya.api.admission.kubeadm_config_template import default
from nagaya.api.admission.kubeadm_config_template import validate as validate_template
from nagaya.api.cluster.annotations import DRY_RUN

IGNITION = 'Forbidden: not supported when spec.format is set to: "ignition"'


def problems(**spec: Any) -> list[str]:
    return [str(error) for error in validate({"spec": spec}, None)]


def test_an_empty_configuration_is_fine() -> None:
    assert problems() == []


def test_a_file_has_one_source() -> None:
    file = {"path": "/a", "content": "hush", "contentFrom": {"secret": {"name": "s", "key": "k"}}}
    (found,) = problems(files=[file])
    assert found == (
        'spec.files[0]: Invalid value: {"path":"/a"}: only one of content or contentFrom may be specified for a single '
        "file"
    )


def test_no_two_files_have_the_same_path() -> None:
    assert problems(files=[{"path": "/a"}, {"path": "/b"}, {"path": "/a"}]) == [
        'spec.files[2].path: Invalid value: {"path":"/a"}: path property must be unique among all files'
    ]


def test_passwords_never_show_in_messages() -> None:
    user = {"name": "u", "passwd": "$6$hash", "passwdFrom": {"secret": {"name": "s", "key": "k"}}}
    (found,) = problems(users=[user])
    assert "only one of passwd or passwdFrom" in found
    assert "hash" not in found


def test_ignition_settings_need_the_format() -> None:
    assert problems(ignition={"containerLinuxConfig": {"strict": True}}) == [
        'spec.format: Invalid value: "": must be set to "ignition" if spec.ignition is set'
    ]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"users": [{"name": "u", "inactive": True}]}, f"spec.users[0].inactive: {IGNITION}"),
        ({"files": [{"path": "/a", "encoding": "gzip+base64"}]}, f"spec.files[0].encoding: {IGNITION}"),
        ({"bootCommands": ["true"]}, f"spec.bootCommands: {IGNITION}"),
        (
            {"diskSetup": {"partitions": [{"device": "d", "tableType": "mbr"}]}},
            'spec.diskSetup.partitions[0].tableType: Invalid value: "mbr": only partition type "gpt" is supported when '
            'spec.format is set to "ignition"',
        ),
        (
            {"diskSetup": {"filesystems": [{"device": "d", "replaceFS": "ntfs"}]}},
            f"spec.diskSetup.filesystems[0].replaceFS: {IGNITION}",
        ),
        (
            {"diskSetup": {"filesystems": [{"device": "d", "partition": "1"}]}},
            f"spec.diskSetup.filesystems[0].partition: {IGNITION}",
        ),
    ],
)
def test_ignition_cannot_do_all_that_cloud_init_can(spec: dict[str, Any], expected: str) -> None:
    assert problems(format="ignition", **spec) == [expected]
    assert problems(format="cloud-config", **spec) == []


def test_partitions_do_not_exceed_their_disk() -> None:
    layout = [{"percentage": 60}, {"percentage": 41}]
    assert problems(diskSetup={"partitions": [{"device": "d", "diskLayout": layout}]}) == [
        "spec.diskSetup.partitions[0].diskLayout: Invalid value: 101: the sum of all partition percentages must not be "
        "greater than 100"
    ]


def test_a_generated_kubeconfig_has_one_kind_of_user() -> None:
    user = {"authProvider": {"name": "a"}, "exec": {"command": "b"}}
    (found,) = problems(joinConfiguration={"discovery": {"file": {"kubeConfig": {"user": user}}}})
    assert found.endswith("only one of authProvider or exec must be defined")


def test_a_template_is_checked_with_its_metadata() -> None:
    template = {"metadata": {"labels": {"a/b/c": "x"}}, "spec": {"files": [{"path": "/a"}, {"path": "/a"}]}}
    found = [error.field for error in validate_template({"spec": {"template": template}}, None)]
    assert found == ["spec.template.spec.files[1].path", "spec.template.metadata.labels"]


def test_a_template_gets_former_defaults_only_to_compare_it() -> None:
    plain: dict[str, Any] = {"metadata": {}, "spec": {"template": {"spec": {}}}}
    assert default(plain, None) == plain
    asked = {"metadata": {"annotations": {DRY_RUN: ""}}, "spec": {"template": {"spec": {}}}}
    registration = {"nodeRegistration": {"imagePullPolicy": "IfNotPresent"}}
    assert default(asked, None)["spec"]["template"]["spec"] == {
        "format": "cloud-config",
        "initConfiguration": registration,
        "joinConfiguration": registration,
    }
