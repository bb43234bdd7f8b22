"""In which order a group of the gallery shows its examples."""

from sphinx_gallery.sorting import NumberOfCodeLinesSortKey


class QuickstartFirst(NumberOfCodeLinesSortKey):
    """The quickstart, then short programs before long ones."""

    def __call__(self, filename):
        """Key of a file."""
        return filename != "plot_quickstart.py", super().__call__(filename)
