"""The directive ``page-plot``: what the code above it on its page has drawn last."""

import re
from doctest import SKIP, DocTestParser
from pathlib import Path

from docutils.statemachine import StringList
from matplotlib.sphinxext.plot_directive import PlotDirective

SHOW_LAST = """
import matplotlib.pyplot
for number in matplotlib.pyplot.get_fignums()[:-1]:
    matplotlib.pyplot.close(number)
"""


def list_code(page):
    """Code of the examples above each ``page-plot`` of a page, and below the one before.

    The directive is counted: its number of line grows with the figures that were inserted above.
    """
    parts = re.split(r"^ *\.\. page-plot::$", page, flags=re.MULTILINE)
    parse = DocTestParser().get_examples
    return [
        "".join(one.source for one in parse(part) if not (one.exc_msg or SKIP in one.options))
        for part in parts[:-1]
    ]


class PagePlot(PlotDirective):
    """``plot`` of the page's examples since the last ``page-plot``; its content is the caption."""

    required_arguments = optional_arguments = 0

    def run(self):
        """Run the examples, and show the figure."""
        document = self.state.document
        number = document["page_plot"] = document.get("page_plot", -1) + 1
        code = list_code(Path(document["source"]).read_text(encoding="utf-8"))[number]
        self.options |= {
            "caption": "\n".join(self.content),
            "context": "close-figs" if number else "reset",
            "format": "python",
            "include-source": False,
        }
        self.options.setdefault("width", "70%")
        self.content = StringList((code + SHOW_LAST).splitlines(), source=document["source"])
        return super().run()


def setup(app):
    """Add the directive."""
    app.add_directive("page-plot", PagePlot)
    return {"parallel_read_safe": True}
