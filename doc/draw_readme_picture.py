"""Draw the picture of the README: ``python doc/draw_readme_picture.py``.

It is that of ``examples/start/plot_quickstart.py``, small enough to be kept with the sources.
"""

import os
import runpy
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "doc" / "_static" / "quickstart.png"


def draw():
    """Run the example in a temporary folder, and save its diagram with few colours."""
    import matplotlib

    matplotlib.use("Agg")
    from PIL import Image

    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            runpy.run_path(str(ROOT / "examples" / "start" / "plot_quickstart.py"))
            with Image.open("quickstart.png") as picture:
                small = picture.convert("RGB").quantize(64, dither=Image.Dither.NONE)
        finally:
            os.chdir(here)
    small.save(PICTURE, optimize=True)


if __name__ == "__main__":
    draw()
