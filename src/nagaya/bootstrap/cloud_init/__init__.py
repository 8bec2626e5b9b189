"""The boot of a machine as cloud-config.

The first line, `## template: jinja`, makes cloud-init render the WHOLE document as a Jinja template before it reads the
YAML. That is Cluster API's way and users rely on it: the name of a node is often `{{ ds.meta_data.local_hostname }}`, a
provider id `cloud://{{ ds.meta_data.instance_id }}`. Dropping the line would break their manifests; escaping everything
that they did not mean as a template is impossible, because nobody can tell what they meant. So it is decided by origin:

- What the user wrote stays a template: kubeadm's settings, contents of files (from Secrets too), commands, users. Such
  text is written so that Jinja sees the very characters of the user (`nagaya.bootstrap.yaml_text` says how). Who wants
  a literal `{{` writes `{{ '{{' }}`, or gives the content of the file in base64.
- What Nagaya puts there itself, certificates, keys and scripts, is never a template. It is written as text where that
  contains no tag of Jinja, and in base64, whose alphabet has no braces, where it does or where it is no text.

Commands that Nagaya builds are lists, which cloud-init runs without a shell's view of them, save the call of kubeadm
itself: it is one shell line, with the `&& echo success` that tells others how it went, and holds no foreign text.
"""

from nagaya.bootstrap.cloud_init.document import render

__all__ = ["render"]
