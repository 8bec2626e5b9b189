"""How a machine becomes a node: what it is told when it boots.

    data.py           what is known about one machine, as values; `render` makes its boot data of them
    kubeadm_api/      what kubeadm reads: our API in the words of kubeadm's v1beta3 and v1beta4
    cloud_init/       the same machine as cloud-config
    ignition/         the same machine as an Ignition config
    virtual_ip.py     an address of the control plane that its machines hold themselves
    installation/     how kubelet and container runtime get onto a plain image
    kubeadm_config/   the controller of KubeadmConfigs

All but the controller is pure: the same values give the same bytes.
"""
