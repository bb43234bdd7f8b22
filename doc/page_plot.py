"""The directive ``page-plot``: what the code above it on its page has drawn last."""

from doctest import SKIP, DocTestParser
from pathlib import Path

from docutils.statemachine import StringList
from matplotlib.sphinxext.plot_directive import PlotDirective

SHOW_LAST = """
import matplotlib.pyplot
for number in matplotlib.pyplot.get_fignums()[:-1]:
    matplotlib.pyplot.close(number)
"""


class PagePlot(PlotDirective):
    """``plot`` of the page's examples since the last ``page-plot``; its content is the caption."""

    required_arguments = optional_arguments = 0

    def run(self):
        """Run the examples, and show the figure."""
        document = self.state.document
        page = Path(document["source"]).read_text(encoding="utf-8").splitlines()
        start = document.get("page_plot", 0)
        document["page_plot"] = end = self.lineno - 1
        examples = DocTestParser().get_examples("\n".join(page[start:end]))
        code = "".join(one.source for one in examples if not (one.exc_msg or SKIP in one.options))
        self.options |= {
            "caption": "\n".join(self.content),
            "context": "close-figs" if start else "reset",
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
