"""KubeadmConfigs: from the wish that a machine becomes a node to the Secret with the data that it boots with.

`controller` looks at one config at a time: `seen` is what it reads, `plan` what it decides, `apply` what it does about
it, and `status` what it tells. The parts have a file each: `config_owner` is the machine, `init_lock` lets only one
machine start a cluster, `tokens` let the others in, `discovery` tells them where to, `contents` fetches what files and
users take from Secrets.
"""
