"""The examples as a gallery: where they run, and in which order they are shown."""

import shutil
from pathlib import Path

# What a newcomer should see first; the others follow by name.
FIRST = ("plot_quickstart.py", "plot_calibration_report.py", "plot_smooth_reliability.py")


class NewcomersFirst:
    """Sort key of sphinx-gallery for the examples of one folder."""

    def __init__(self, src_dir):
        self.src_dir = src_dir

    def __call__(self, filename):
        """Key of one example."""
        return (FIRST.index(filename) if filename in FIRST else len(FIRST), filename)


def copy_examples(source, target):
    """Copy examples and headers, for an example may save pictures in the folder that it runs in."""
    shutil.rmtree(target, ignore_errors=True)
    for pattern in ("plot_*.py", "GALLERY_HEADER.rst"):
        for path in sorted(Path(source).rglob(pattern)):
            copy = Path(target) / path.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)


def scrape(*arguments, **options):
    """Save the figures of a block without the white margins around them."""
    from sphinx_gallery.scrapers import matplotlib_scraper

    return matplotlib_scraper(*arguments, **options, bbox_inches="tight")
