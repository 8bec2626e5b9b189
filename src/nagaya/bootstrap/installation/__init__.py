"""How kubelet, kubeadm and a container runtime get onto a machine.

Either they are in its image, or they are installed from packages at first boot, so that a plain image of Debian, Ubuntu
or Fedora is enough. Cluster API's types have no field for the choice, so an annotation of the KubeadmConfig makes it.
"""

from nagaya.bootstrap.installation.choice import FromImage, FromPackages, Installation, requested
from nagaya.bootstrap.installation.steps import Steps, steps

__all__ = ["FromImage", "FromPackages", "Installation", "Steps", "requested", "steps"]
