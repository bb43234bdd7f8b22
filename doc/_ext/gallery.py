"""The examples as a gallery: where they run, their order, and what their thumbnails show."""

import shutil
from pathlib import Path

import numpy as np

# What a newcomer should see first; the others follow by name.
FIRST = ("plot_quickstart.py", "plot_calibration_report.py", "plot_smooth_reliability.py")
# Thumbnails of figures with many panels show one: number of the figure, and place of the panel.
PANELS = {
    "plot_calibration_errors_jl": (1, 0),
    "plot_calibration_report": (1, 2),
    "plot_calibration_sharpness": (1, 2),
    "plot_canonical_calibration": (1, 1),
    "plot_compare_recalibrators": (1, 0),
    "plot_distance_from_calibration": (1, 0),
    "plot_distance_separations": (1, 2),
    "plot_distance_temperature": (1, 2),
    "plot_reading_diagrams": (1, 2),
    "plot_regression_calibration": (1, 1),
    "plot_sharpness_recalibration": (1, 1),
    "plot_sharpness_theory": (1, 2),
    "plot_smooth_ece": (3, 1),
    "plot_smooth_reliability": (1, 1),
    "plot_streaming_monitor": (1, 0),
    "plot_trivial_recalibration": (1, 0),
}
THUMBNAIL_DPI = 150


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


def scrape(block, block_vars, gallery_conf, **options):
    """Save the figures of a block without the white margins around them."""
    from sphinx_gallery.scrapers import matplotlib_scraper

    _save_panel(block_vars)
    return matplotlib_scraper(block, block_vars, gallery_conf, **options, bbox_inches="tight")


def _save_panel(block_vars):
    """Save the panel that the thumbnail of an example shows, if one of these figures has it."""
    import matplotlib.pyplot as plt

    name = Path(block_vars["src_file"]).stem
    paths = block_vars["image_path_iterator"]
    number, place = PANELS.get(name, (0, 0))
    new = plt.get_fignums()
    if not len(paths) < number <= len(paths) + len(new):
        return
    figure = plt.figure(new[number - len(paths) - 1])
    path = Path(paths.image_path).parent / "panels" / f"{name}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    # Saving a part of a figure may move its legend: the whole is saved, and cut.
    figure.savefig(path, dpi=THUMBNAIL_DPI)
    image = plt.imread(path)
    box = figure.axes[place].get_tightbbox().padded(5)
    left, bottom, right, top = (np.array(box.extents) * THUMBNAIL_DPI / figure.dpi).astype(int)
    height, width = image.shape[:2]
    rows = slice(max(height - top, 0), min(height - bottom, height))
    plt.imsave(path, image[rows, max(left, 0) : min(right, width)])
    block_vars["file_conf"]["thumbnail_path"] = str(path)
