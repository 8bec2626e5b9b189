from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from nagaya.controlplane.kubeadm.workload import yaml_text
from support.subtest_cases import subtest_cases

VALUES = st.recursive(
    st.text() | st.booleans() | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), VALUES, max_size=4))
def test_what_is_written_is_read_as_it_was(document: dict[str, object]) -> None:
    assert yaml_text.load(yaml_text.dump(document)) == document


@subtest_cases("word", ["y", "No", "on", "1e3", "0o17", "0x1f", "1_000", "1:30", "~", "2026-11-01", ".inf", ""])
def test_words_that_some_yaml_takes_for_something_else_are_quoted(word: str) -> None:
    assert yaml_text.dump({"a": word}) == f'a: "{word}"\n'


def test_dates_are_text() -> None:
    assert yaml_text.load("a: 2026-11-01") == {"a": "2026-11-01"}


def test_nothing_is_an_empty_document() -> None:
    assert yaml_text.load("") == {}


@pytest.mark.parametrize("text", ["- a", "a: [", "text"])
def test_anything_else_is_refused_without_quoting_it(text: str) -> None:
    with pytest.raises(ValueError, match="it is not") as refusal:
        yaml_text.load(text)
    assert text not in str(refusal.value)


def test_plain_names_stay_plain() -> None:
    text = yaml_text.dump({"imageRepository": "registry.k8s.io/a-b", "dir": "/etc/kubernetes/pki"})
    assert text == "dir: /etc/kubernetes/pki\nimageRepository: registry.k8s.io/a-b\n"
    assert yaml.safe_load(text)["dir"] == "/etc/kubernetes/pki"
