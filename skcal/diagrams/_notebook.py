"""How displays show themselves where they are the last line of a notebook's cell."""

from io import BytesIO


class ShownInNotebooks:
    """Has a short text, and the figure of an earlier cell as picture."""

    def __repr__(self) -> str:
        name = getattr(self, "name", None)
        return f"{type(self).__name__}({'' if name is None else f'name={name!r}'})"

    def _repr_png_(self):
        """The figure as PNG; None where there is none, or where pyplot is about to show it."""
        from matplotlib._pylab_helpers import Gcf

        figure = getattr(self, "figure_", None)
        if figure is None:
            return None
        figure = figure.figure  # the whole figure that a SubFigure belongs to
        if any(manager.canvas.figure is figure for manager in Gcf.get_all_fig_managers()):
            return None
        stream = BytesIO()
        figure.savefig(stream, format="png", bbox_inches="tight")
        return stream.getvalue()
