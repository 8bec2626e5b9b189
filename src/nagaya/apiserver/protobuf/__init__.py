"""Reads protobuf request bodies, which Go clients send for built-in kinds unless told otherwise.

Only reading is needed: clients that send protobuf also take JSON answers. The field numbers come from the same facts as
everything else about built-in kinds, and what comes out is the same object that a JSON body would have given.
"""

from nagaya.apiserver.protobuf.envelope import decode

__all__ = ["decode"]
