from __future__ import annotations

import base64
from pathlib import Path

import yaml

from nagaya.pki import kubeconfig


def test_a_certificate_user_is_joined_with_the_cluster() -> None:
    config = kubeconfig.build(
        "https://127.0.0.1:6443",
        b"CA",
        kubeconfig.ClientCertificate(b"CERT", b"KEY"),
        cluster="home",
        user="boss",
        namespace="here",
    )
    place = {"server": "https://127.0.0.1:6443", "certificate-authority-data": base64.b64encode(b"CA").decode()}
    assert config["clusters"] == [{"name": "home", "cluster": place}]
    assert config["contexts"] == [
        {"name": "boss@home", "context": {"cluster": "home", "user": "boss", "namespace": "here"}}
    ]
    assert config["current-context"] == "boss@home"
    proof = config["users"][0]["user"]
    assert base64.b64decode(proof["client-certificate-data"]) == b"CERT"
    assert base64.b64decode(proof["client-key-data"]) == b"KEY"


def test_a_token_user_holds_the_token() -> None:
    config = kubeconfig.build("https://x", None, kubeconfig.BearerToken("abc"))
    assert config["users"] == [{"name": "kubernetes-admin", "user": {"token": "abc"}}]
    assert config["clusters"][0]["cluster"] == {"server": "https://x"}


def test_without_credentials_it_only_says_where_the_cluster_is() -> None:
    config = kubeconfig.build("https://x", b"CA", None, cluster="")
    assert (config["users"], config["contexts"], config["current-context"]) == ([], [], "")
    assert config["clusters"][0]["name"] == ""


def test_the_file_is_yaml_and_private(tmp_path: Path) -> None:
    config = kubeconfig.build("https://x", b"C" * 3000, kubeconfig.BearerToken("0123"))
    kubeconfig.write(config, tmp_path / "config")
    assert yaml.safe_load((tmp_path / "config").read_text()) == config
    assert (tmp_path / "config").stat().st_mode & 0o777 == 0o600


def test_a_file_is_written_again_only_if_something_changed(tmp_path: Path) -> None:
    file = tmp_path / "config"

    def inode(server: str) -> int:
        kubeconfig.write(kubeconfig.build(server, b"authority", kubeconfig.BearerToken("0123")), file)
        return file.stat().st_ino

    first = inode("https://one")
    assert inode("https://one") == first, "also where the disk is full"
    assert (second := inode("https://two")) != first
    file.chmod(0o644)
    assert inode("https://two") != second
    assert file.stat().st_mode & 0o777 == 0o600


def test_secrets_are_not_shown() -> None:
    shown = repr(kubeconfig.BearerToken("hush")) + repr(kubeconfig.ClientCertificate(b"c", b"hush"))
    assert "hush" not in shown
