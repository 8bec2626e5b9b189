"""Container Linux Config: the YAML that people write instead of Ignition's JSON, translated.

A table says for each part which fields it has and what becomes of each; names change from snake_case to camelCase and
most values stay. What always holds: nothing is translated half. What cannot be, such as files from a folder of the
program that used to translate, or etcd and flannel as services, is refused by name. Fields that nobody knows are passed
over, unless `strict` asks to refuse them and everything else that the original program warns of.
"""

from nagaya.bootstrap.ignition.container_linux.config import translated

__all__ = ["translated"]
