"""Files that are on the machine before kubeadm runs."""

from __future__ import annotations

from typing import Annotated, Final

from nagaya.api.model import Model, doc

ENCODINGS: Final = ("base64", "gzip", "gzip+base64")
RAW: Final = "Raw"
TEMPLATE: Final = "Template"


class SecretFileSource(Model):
    """One entry of a Secret."""

    name: Annotated[str, doc("Name of the Secret, in the namespace of the KubeadmConfig.", minLength=1, maxLength=253)]
    key: Annotated[str, doc("The entry whose content becomes the file.", minLength=1, maxLength=256)]


class FileSource(Model):
    """Where the content of a file comes from."""

    secret: Annotated[SecretFileSource, doc("Take the content from a Secret.")]


class File(Model):
    """A file to write. Its content is given here or taken from a Secret."""

    path: Annotated[str, doc("Where the file is put, such as /etc/motd.", minLength=1, maxLength=512)]
    owner: Annotated[
        str, doc("Its owner and group, such as root:root, which they are if left out.", minLength=1, maxLength=256)
    ] = ""
    permissions: Annotated[
        str, doc('Its mode in octal digits, such as "0640". 0644 if left out.', minLength=1, maxLength=16)
    ] = ""
    encoding: Annotated[
        str,
        doc(
            "How the content is encoded: base64, gzip, or gzip+base64 (first packed, then encoded). Plain if left out.",
            enum=list(ENCODINGS),
        ),
    ] = ""
    append: Annotated[
        bool | None, doc("If true, the content is added to a file that exists. It replaces the file if left out.")
    ] = None
    content: Annotated[str, doc("What the file contains. Excludes contentFrom.", minLength=1, maxLength=10240)] = ""
    content_from: Annotated[
        FileSource | None,
        doc("Where the content comes from, instead of content. The Secret is read when the machine is made."),
    ] = None
    content_format: Annotated[
        str,
        doc(
            "Raw uses the content as it is, as does leaving this out. Template fills it in first, as a Go template: "
            "{{ .controlPlane.version }} is the Kubernetes version of the control plane.",
            enum=[RAW, TEMPLATE],
        ),
    ] = ""
