"""From a request to the code of its call, and back: paths, formatters, bodies, proxying. What pveproxy does in PVE."""
