"""What `to_dict` gave, through JSON and with one change."""

import json

MISSING = "(missing)"


def change(data, path, value):
    """A copy in which `path` leads to another value, or nowhere."""
    changed = part = json.loads(json.dumps(data))
    for step in path[:-1]:
        part = part[step]
    if isinstance(value, str) and value == MISSING:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return changed
