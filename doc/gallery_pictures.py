"""Pictures of the gallery's examples, and thumbnails that can be read at 200 pixels."""

from pathlib import Path

from matplotlib import pyplot
from sphinx_gallery.scrapers import matplotlib_scraper

INCHES, DPI = (2.5, 1.75), 160  # sphinx_gallery_conf["thumbnail_size"], shown at half of it


def save_pictures(block, block_vars, gallery_conf):
    """Save the figures of a block, and draw the thumbnail of the example if one of them has it."""
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    paths, conf = block_vars["image_path_iterator"].paths, block_vars["file_conf"]
    wanted = conf.get("thumbnail_number", 1) - len(paths) - 1
    rst = matplotlib_scraper(block, block_vars, gallery_conf)
    if 0 <= wanted < len(figures):
        picture = Path(paths[wanted - len(figures)])
        thumbnail = picture.parent / "thumb" / f"{picture.stem}_small.png"
        thumbnail.parent.mkdir(exist_ok=True)
        draw_thumbnail(figures[wanted]).savefig(thumbnail, dpi=DPI)
        conf.pop("thumbnail_number", None)  # it would go before the path
        conf["thumbnail_path"] = str(thumbnail)
    return rst


def draw_thumbnail(figure):
    """Leave the first axes of a figure, without words, at the size of a thumbnail."""
    place = figure.axes[0].get_position(original=True).bounds
    figure.set_layout_engine("none")
    figure.set_size_inches(INCHES)
    for words in (*figure.texts, *figure.legends):
        words.set_visible(False)
    for ax in figure.axes:
        ax.set_visible(ax.get_position(original=True).bounds == place)
    for ax in filter(lambda ax: ax.get_visible(), figure.axes):
        ax.set_position([0.02, 0.03, 0.96, 0.94])
        ax.set_ylim(ax.spines["left"].get_bounds())  # without the room of a legend above the frame
        ax.set(xlabel="", ylabel="", title="")
        ax.set_title("", loc="left")
        ax.tick_params(which="both", labelbottom=False, labelleft=False, labelright=False)
        for words in (*ax.texts, *filter(None, [ax.get_legend()])):
            words.set_visible(False)
    return figure
