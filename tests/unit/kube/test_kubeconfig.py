from __future__ import annotations

import base64
import errno
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from nagaya.kube import kubeconfig
from nagaya.kube.kubeconfig import Connection, KubeconfigError
from support.subtest_cases import subtest_cases

SECRET = "very-secret"


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def config(
    cluster: dict[str, Any] | None = None, user: dict[str, Any] | None = None, name: str = "c"
) -> dict[str, Any]:
    return {
        "clusters": [{"name": name, "cluster": {"server": "https://host:6443", **(cluster or {})}}],
        "users": [{"name": name, "user": user or {}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }


def write(path: Path, content: dict[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(content))
    return path


def test_inline_certificates_are_decoded() -> None:
    user = {"client-certificate-data": encoded("CERT"), "client-key-data": encoded("KEY")}
    found = kubeconfig.parse(config({"certificate-authority-data": encoded("CA"), "server": "https://h:1/sub/"}, user))
    assert found == Connection("https://h:1/sub", authority=b"CA", certificate=b"CERT", key=b"KEY")


def test_every_field_of_a_cluster_is_read() -> None:
    cluster = {"tls-server-name": "name", "insecure-skip-tls-verify": True, "proxy-url": "http://p:3128"}
    content = config({**cluster, "disable-compression": True}, {"username": "u", "password": SECRET})
    content["contexts"][0]["context"]["namespace"] = "team"
    found = kubeconfig.parse(content)
    assert (found.tls_server_name, found.insecure, found.proxy) == ("name", True, "http://p:3128")
    assert (found.compression, found.namespace, found.username, found.password) == (False, "team", "u", SECRET)


def test_a_connection_does_not_show_its_secrets() -> None:
    user = {"token": SECRET, "client-certificate-data": encoded(SECRET), "client-key-data": encoded(SECRET)}
    found = kubeconfig.parse(config({"proxy-url": f"http://u:{SECRET}@p"}, user))
    assert SECRET not in repr(found)
    assert found.token == SECRET


def test_connections_differ_when_credentials_do() -> None:
    one, other = (kubeconfig.parse(config(user={"token": token})) for token in ("a", "b"))
    assert one != other
    assert one == kubeconfig.parse(config(user={"token": "a"}))


def test_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    for name in ("ca.crt", "me.crt", "me.key", "token"):
        (tmp_path / "pki" / name).write_text(name)
    user = {"client-certificate": "pki/me.crt", "client-key": "pki/me.key", "tokenFile": "pki/token"}
    file = write(tmp_path / "config", config({"certificate-authority": "pki/ca.crt"}, user))
    found = kubeconfig.load(file)
    assert found.authority == tmp_path / "pki" / "ca.crt"
    assert found.key == tmp_path / "pki" / "me.key"
    assert found.token_file == tmp_path / "pki" / "token"


def test_of_several_files_the_first_to_say_something_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = config({"server": "https://first:1"}, {"token": "first"})
    del first["current-context"]
    second = config({"server": "https://second:1"}, {"username": "ignored"})
    third = config({"server": "https://third:1"}, {"token": "third"}, name="other")
    files = [write(tmp_path / name, each) for name, each in (("1", first), ("2", second), ("3", third))]
    monkeypatch.setenv("KUBECONFIG", ":".join(map(str, [tmp_path / "missing", *files])))
    assert kubeconfig.load().server == "https://first:1"
    assert kubeconfig.load().username == ""
    assert kubeconfig.load(context="other").server == "https://third:1"


def test_without_a_variable_it_is_in_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(KubeconfigError, match=r"there is no kubeconfig: .*\.kube/config does not exist"):
        kubeconfig.load()
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config", config())
    assert kubeconfig.load().server == "https://host:6443"


@pytest.mark.parametrize("variable", [True, False], ids=["KUBECONFIG", "home"])
def test_a_folder_that_may_not_be_looked_into_is_told_and_not_taken_for_an_empty_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: bool
) -> None:
    file = tmp_path / ".kube" / "config"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("KUBECONFIG", str(file) if variable else "")

    def denied(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(
            errno.EACCES, "Permission denied", str(path)
        )  # as for all but root, who may look anywhere

    monkeypatch.setattr(Path, "stat", denied)
    monkeypatch.setattr(Path, "read_bytes", denied)
    with pytest.raises(KubeconfigError) as caught:
        kubeconfig.load()
    assert str(caught.value) == f"{file}: Permission denied. Name a kubeconfig that can be read."


def test_impersonation_is_read() -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"scopes": ["x", "y"]}}
    found = kubeconfig.parse(config(user=user)).impersonation
    assert found is not None
    assert (found.user, found.uid, found.groups) == ("jane", "7", ("a", "b"))
    assert found.extra == (("scopes", "x"), ("scopes", "y"))


def test_an_exec_plugin_is_read(tmp_path: Path) -> None:
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./login",
        "args": ["--now"],
        "env": [{"name": "A", "value": "b"}],
        "interactiveMode": "Never",
        "installHint": "Install it.",
        "provideClusterInfo": True,
    }
    extension = {"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}
    content = config({"certificate-authority-data": encoded("CA"), "extensions": [extension]}, {"exec": plugin})
    found = kubeconfig.load(write(tmp_path / "config", content)).plugin
    assert found is not None
    assert found.command == str(tmp_path / "login")
    assert found.arguments == ("--now",)
    assert found.environment == (("A", "b"),)
    cluster = json.loads(found.cluster)
    assert cluster == {
        "server": "https://host:6443",
        "certificate-authority-data": encoded("CA"),
        "config": {"audience": "x"},
    }


def test_other_credentials_go_before_a_plugin() -> None:
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "x", "interactiveMode": "Never"}
    assert kubeconfig.parse(config(user={"token": "t", "exec": plugin})).plugin is None


EXEC = {"apiVersion": "client.authentication.k8s.io/v1", "command": "login", "interactiveMode": "Never"}


NO_SERVERS = (
    "https://[::1", "https://[zz]:1", "https://h:99999", "https://h:-1", "https://h:1e3", "https://h:0", "https://a..b",
    f"https://{'a' * 64}", "https://user:password@h", "https://a\\b", "https://h\r\nx: y", "https://a b", "https://h?x",
    "https://;[::]v", "https://h/#x", "https://h/?x", "https://\u00df",
)  # fmt: skip


@subtest_cases(
    ("content", "message"),
    [
        ({**config(), "current-context": ""}, "current-context is not set. Set it, or name a context."),
        ({**config(), "current-context": "x"}, "there is no context 'x'. There are: c."),
        ({**config(), "clusters": []}, "there is no cluster 'c'. There are: none."),
        ({**config(), "users": []}, "there is no user 'c'"),
        ({**config(), "users": {}}, None),
        ({**config(), "users": "x"}, "users must be a list, but is text"),
        ({**config(), "users": [3]}, "users[0] must have a name and a user"),
        (config({"server": "host:6443"}), "server: it must be a URL such as https://host:6443"),
        *((config({"server": server}), "server: it must be a URL such as") for server in NO_SERVERS),
        *(
            (config({"tls-server-name": name}), "tls-server-name: it must be")
            for name in (".h", "a..b", "a" * 64, "a\0")
        ),
        (config({"proxy-url": "socks5://p"}), "proxy-url: only proxies at http:// and https:// can be used"),
        (config({"certificate-authority-data": "%%%"}), "certificate-authority-data: it is not base64"),
        (config({"certificate-authority": "/missing.crt"}), "there is no file /missing.crt"),
        (config({"certificate-authority": "ca.crt"}), "is relative, but this kubeconfig is not in a file"),
        (
            config({"certificate-authority-data": encoded("CA"), "insecure-skip-tls-verify": True}),
            "insecure-skip-tls-verify: there is a certificate-authority too",
        ),
        (config({"insecure-skip-tls-verify": "yes"}), "it must be true or false, but is text"),
        (config(user={"token": 12345}), "users[c].user.token: it must be text, but is a number. Put it in quotes."),
        (config(user={"client-certificate-data": encoded(SECRET)}), "client-key or client-key-data is missing"),
        (config(user={"token": SECRET, "username": "u"}), "it has a token and a username"),
        (config(user={"auth-provider": {"name": "gcp"}}), "Use an exec plugin instead"),
        (config(user={"as-groups": ["x"]}), "need `as`, the user"),
        (config(user={"exec": {**EXEC, "command": ""}}), "exec.command: it is missing"),
        (config(user={"exec": {**EXEC, "apiVersion": "v1"}}), "exec.apiVersion: it must be client.auth"),
        (config(user={"exec": {**EXEC, "interactiveMode": ""}}), "exec.interactiveMode: it is missing"),
        (config(user={"exec": {**EXEC, "interactiveMode": "No"}}), "must be one of Never, IfAvailable, Always"),
        (config(user={"exec": {**EXEC, "env": [{"value": "x"}]}}), "each entry must have a name and a value"),
    ],
)
def test_what_is_wrong_is_named_with_a_remedy(content: dict[str, Any], message: str | None) -> None:
    if message is None:
        content = {**content, "contexts": [{"name": "c", "context": {"cluster": "c"}}]}
        assert kubeconfig.parse(content).token == ""
        return
    with pytest.raises(KubeconfigError) as caught:
        kubeconfig.parse(content, source="/etc/config")
    assert message in str(caught.value)
    assert str(caught.value).startswith("/etc/config: ")
    assert SECRET not in str(caught.value)


def test_a_file_that_is_not_a_kubeconfig_is_not_quoted(tmp_path: Path) -> None:
    file = tmp_path / "config"
    for text, message in ((f"a: [{SECRET}", "it is not YAML"), (SECRET, "it is not a kubeconfig but text")):
        file.write_text(text)
        with pytest.raises(KubeconfigError, match=message) as caught:
            kubeconfig.load(file)
        assert SECRET not in str(caught.value)
    with pytest.raises(KubeconfigError, match="No such file"):
        kubeconfig.load(tmp_path / "missing")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (config(user={"exec": EXEC}), "may not run programs"),
        (config(user={"tokenFile": "/etc/passwd"}), "may not name files on it. Put the content into token."),
        (config({"certificate-authority": "/etc/passwd"}), "Put the content into certificate-authority-data."),
    ],
)
def test_a_kubeconfig_in_a_secret_can_neither_run_programs_nor_read_files(content: Any, message: str) -> None:
    with pytest.raises(KubeconfigError, match=message):
        kubeconfig.parse_text(yaml.safe_dump(content), source="Secret a/b-kubeconfig")
    kubeconfig.parse(content if "cert" not in message else config(), folder=Path("/"))


def test_a_kubeconfig_in_a_secret_can_hold_credentials() -> None:
    assert kubeconfig.parse_text(yaml.safe_dump(config(user={"token": "t"}))).token == "t"


def test_a_pod_finds_its_own_cluster(tmp_path: Path) -> None:
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    with pytest.raises(KubeconfigError, match="there is no file"):
        kubeconfig.in_cluster(tmp_path, environment)
    for name, text in (("token", "t"), ("ca.crt", "CA"), ("namespace", "mine\n")):
        (tmp_path / name).write_text(text)
    found = kubeconfig.in_cluster(tmp_path, environment)
    assert (found.server, found.namespace) == ("https://[fd00::1]:443", "mine")
    assert (found.token_file, found.authority) == (tmp_path / "token", tmp_path / "ca.crt")
    with pytest.raises(KubeconfigError, match="this is not a pod"):
        kubeconfig.in_cluster(tmp_path, {})
