"""The built-in kinds: what the real server knows about them from Go's types, kept here as tables of facts.

`facts` reads the tables into schema types, `resources` says what is served, `decode` turns a client's object into the
one that the real server would hold. The tables in `data` are written by `tools/typefacts`.
"""
