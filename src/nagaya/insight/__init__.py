"""A management API read into something a person understands. Nothing here ever writes.

`picture` gathers all objects of a Cluster into one value; everything else is a pure function from a picture to what a
person wants to know: `tree` (how it stands), `story` (what happened), `cause` (why it is so). `foresight` plays what an
apply would do. How that is printed is the command line's matter.
"""
