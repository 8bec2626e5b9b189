"""L15: the image must be there before anything in the cluster is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from nagaya.cloud.lint.check import Check, finding
from nagaya.cloud.lint.finding import Finding, Severity
from nagaya.cloud.lint.manifests import Manifests
from nagaya.cloud.lint.plain import Object, text
from nagaya.cloud.lint.workload import Workload

_ID: Final = "L15"
_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_DOMAIN: Final = (
    r"(?:(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])"
    r"(?:\.(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]))*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?"
)
_REFERENCE: Final = re.compile(
    rf"(?:{_DOMAIN}/)?{_PART}(?:/{_PART})*(?P<tag>:[\w][\w.-]{{0,127}})?"
    r"(?P<digest>@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_IN_CLUSTER: Final = re.compile(r"\.svc(?:\.|$)|\.cluster\.local$")


def _run(manifests: Manifests) -> Iterator[Finding]:
    for each in manifests.inside:
        for path, container in each.all_containers:
            yield from _image(each, path, container)


def _image(workload: Workload, path: str, container: Object) -> Iterator[Finding]:
    image = text(container.get("image"))
    known = _REFERENCE.fullmatch(image)
    if known is None:
        yield finding(
            _ID,
            Severity.ERROR,
            workload.manifest,
            f"{path}.image",
            image or "no image",
            "This is no image reference, so the container never starts (InvalidImageName)."
            + (" A tag stands after a colon; after @ stands a digest." if "@" in image else ""),
            f"image: {image.replace('@', ':', 1)}".replace(":latest", ":v1.2.3") if "@" in image else "image: name:tag",
        )
        return
    host = image.partition("/")[0].partition(":")[0]
    if _IN_CLUSTER.search(host):
        yield finding(
            _ID,
            Severity.ERROR,
            workload.manifest,
            f"{path}.image",
            host,
            "The image comes from a Service of the cluster that is to be started. Its pods wait for initialised nodes, "
            "and the node's container runtime does not know names of the cluster.",
            "image: <the same image in a registry outside of the cluster, or preloaded on the machines>",
        )
    if known["digest"]:
        return
    if known["tag"] in (None, ":latest"):
        yield finding(
            _ID,
            Severity.WARNING,
            workload.manifest,
            f"{path}.image",
            image,
            "Without a version, each node may run another one, and the image is asked for at every start.",
            f"image: {image.removesuffix(':latest')}:v1.2.3",
        )
    elif container.get("imagePullPolicy") == "Always":
        yield finding(
            _ID,
            Severity.WARNING,
            workload.manifest,
            f"{path}.imagePullPolicy",
            "imagePullPolicy: Always",
            "Every start asks the registry, also when the image is on the node: while the registry cannot be reached, "
            "no node is initialised.",
            "imagePullPolicy: IfNotPresent",
        )


CHECK: Final = Check(
    _ID,
    "the image cannot be had when the cluster starts",
    Severity.ERROR,
    """The image of a cloud controller manager is pulled by the container runtime of a bare node: no cluster DNS, no
Services, no pods. A registry inside of the cluster cannot serve it. A reference that is not valid (name@latest: a tag
after @) is never pulled. `latest` and imagePullPolicy Always ask the registry at every start, and make the whole
cluster depend on it.""",
    _run,
)
