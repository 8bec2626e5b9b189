"""Text from tenants, machines and servers must not end the process that reads it, nor fill its memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from nagaya.addons.resource_set.manifests import objects_in
from nagaya.api.conversion.manifests import ManifestError, read
from nagaya.clusters.certificates import kubeconfig as cluster_kubeconfig
from nagaya.controlplane.kubeadm.workload import yaml_text
from nagaya.kube.kubeconfig import KubeconfigError, parse_text
from nagaya.wire import bounded_yaml

SOURCE = Path(bounded_yaml.__file__).parent.parent
HOSTILE = {
    "brackets": "[" * 200_000 + "]" * 200_000,
    "braces": "{a: " * 200_000 + "}" * 200_000,
    "open brackets": "[" * 200_000,
    "indented lists": "- " * 100_000 + "a",
    "indented maps": "".join(f"{' ' * level}a:\n" for level in range(1000)),
    "complex keys": "? " * 100_000 + "a",
    "a list of itself": "&a [*a]",
    "a map of itself": "&a {b: {c: *a}}",
    "aliases of aliases": "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 12)),
    "merged aliases": "a0: &a0 {x: 1, y: 2}\n"
    + "".join(
        f"a{level}: &a{level} {{p: *a{level - 1}, q: *a{level - 1}, r: *a{level - 1}}}\n" for level in range(1, 25)
    ),
    "a long text many times": "a: &a " + "x" * 100_000 + "\nb: [" + "*a, " * 10_000 + "]",
    "thousands of digits": "a: " + "9" * 10_000,
    "a sexagesimal number": "a: 1" + ":10" * 100_000,
    "a sexagesimal fraction": "a: 1" + ":10" * 1000 + ".5",
    "an impossible date": "a: 2001-99-99",
    "a date that is a word": "a: !!timestamp x",
    "a truth that is a word": "a: !!bool x",
    "a number without digits": "a: !!int ''",
    "a fraction without digits": "a: !!float ''",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_an_error_of_yaml(text: str) -> None:
    with pytest.raises(yaml.YAMLError) as refused:
        bounded_yaml.load(text)
    assert len(str(refused.value)) < 500
    with pytest.raises(yaml.YAMLError):
        bounded_yaml.load_all(text)


READERS: dict[str, tuple[Callable[[str], object], type[Exception]]] = {
    "manifests": (lambda text: read(text, "file"), ManifestError),
    "ClusterResourceSet": (lambda text: objects_in([("key", text.encode())]), ManifestError),
    "kubeconfig": (parse_text, KubeconfigError),
    "kubeconfig of a cluster": (lambda text: cluster_kubeconfig.read(text.encode()), ValueError),
    "ConfigMap of kubeadm": (yaml_text.load, ValueError),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", [HOSTILE["brackets"], HOSTILE["indented lists"], HOSTILE["a list of itself"]])
def test_readers_refuse_hostile_text_by_their_own_error(reader: str, text: str) -> None:
    parse_text, error = READERS[reader]
    with pytest.raises(error):
        parse_text(text)


def test_deep_json_is_refused_as_a_manifest() -> None:
    with pytest.raises(ManifestError):
        objects_in([("key", b"[" * 100_000)])
    with pytest.raises(ManifestError):
        objects_in([("key", b'{"a":' * 100_000)])


def test_ordinary_text_is_read_as_before() -> None:
    text = "a: &a {b: [1, 2.5, 0x10, 1:30, yes, null, 2001-01-01]}\nc: *a\nd: {<<: *a, e: text}\n"
    assert bounded_yaml.load(text) == yaml.safe_load(text)
    assert bounded_yaml.load("[" * 100 + "]" * 100) == yaml.safe_load("[" * 100 + "]" * 100)


def test_no_other_loader_is_used() -> None:
    direct = re.compile(r"\byaml\.(load|load_all|\w*_load|\w*_load_all|parse|compose)\(|\byaml\.\w*Loader\b")
    allowed = {
        "wire/bounded_yaml.py",
        "apiserver/meta/yamltext.py",  # builds values from events, within bounds of its own
        "api/conversion/manifests.py",  # these three give their own subclass of BoundedLoader to yaml.load
        "controlplane/kubeadm/workload/yaml_text.py",
        "bootstrap/ignition/container_linux/reader.py",
    }
    found = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if direct.search(path.read_text().replace("bounded_yaml.", ""))
    }
    assert found == allowed
    for name in found - {"wire/bounded_yaml.py", "apiserver/meta/yamltext.py"}:
        assert "class _Loader(BoundedLoader)" in (SOURCE / name).read_text()
