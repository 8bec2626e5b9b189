"""The boot of a machine as an Ignition config, version 2.3.0, for Flatcar and its relatives.

Ignition runs once, before the system is up, and knows no commands. So what is run goes into the script /etc/kubeadm.sh,
which the unit kubeadm.service starts as long as /etc/kubeadm.yml exists; after kubeadm has succeeded the script moves
that file to /tmp, so it never runs twice and the next boot clears it away. This is how Cluster API's provider does it,
paths and unit names included, and users hook into them with drop-ins.

Cluster API writes a Container Linux Config first and has it translated. Here the Ignition config is made directly;
only the user's `additionalConfig`, which is a Container Linux Config, is translated (`container_linux_config`) and
appended. There are no templates in this format: everything arrives as it is written.
"""

from nagaya.bootstrap.ignition.document import render

__all__ = ["render"]
