"""Go's text/template, as users of Cluster API know it: names of machines, contents of files, patches of classes.

People write these templates against Go's documentation and try them with Go's tools, so the language is the whole one,
not a part that happens to suffice: pipelines, variables, blocks, trim markers, all built-in functions, the same output
and the same words for what is wrong. Data are plain JSON-like values. Nothing of a template can reach anything but the
data and functions that are handed in, its output is limited, and so is its depth.
"""
