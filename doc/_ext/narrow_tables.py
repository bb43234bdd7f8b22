"""Wide tables on narrow screens: cells below each other, each with the head of its column.

The heads are written into the cells here; the style sheet shows them, and stacks the cells, where
the screen is narrow. Tables of the class `grid` scroll instead: their cells say little alone.
"""

from docutils import nodes

# Tables of three columns and more are stacked if some row has more characters than this.
LONG = 60


def setup(app):
    """Prepare the tables of every page that is written as HTML."""
    app.connect("doctree-resolved", prepare_tables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def prepare_tables(app, doctree, docname):
    """Mark the tables of a page that are to be stacked, and name the column in each cell."""
    if app.builder.format != "html":
        return
    for table in doctree.findall(nodes.table):
        has_heads = next(table.findall(nodes.thead), None) is not None
        if has_heads and "grid" not in table["classes"] and _is_wide(table):
            table["classes"].append("stacked")
            _name_cells(table)


def _is_wide(table):
    rows = list(next(table.findall(nodes.tbody)).findall(nodes.row))
    return len(rows[0]) > 2 and max(len(row.astext()) for row in rows) > LONG


def _name_cells(table):
    heads = [entry.astext() for entry in next(table.findall(nodes.thead)).findall(nodes.entry)]
    for row in next(table.findall(nodes.tbody)).findall(nodes.row):
        if len(row) != len(heads):
            continue
        for head, entry in list(zip(heads, row, strict=True))[1:]:
            if head and entry.astext():
                entry.insert(0, nodes.paragraph("", head, classes=["head-of-cell"]))
