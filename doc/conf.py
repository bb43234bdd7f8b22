"""Configuration of Sphinx.

``python -m sphinx -W --keep-going doc doc/_build/html`` builds the site; it needs no network. With
``SKCAL_DOC_ONLINE=1`` in the environment names of other packages become links to their sites.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

from docutils import nodes  # noqa: E402

import skcal  # noqa: E402

project = "skcal"
author = "The skcal developers"
project_copyright = "the skcal developers, BSD 3-Clause licence"
version = release = skcal.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "api_pages",
    "mathml",
    "narrow_tables",
]
exclude_patterns = ["_build", "auto_examples/**/*.ipynb", "auto_examples/**/*.py"]
default_role = "name"
nitpicky = True
html_math_renderer = "mathml"

# Pages of the API are written by the extension api_pages.
autosummary_generate = False
autodoc_typehints = "none"
numpydoc_show_class_members = False

# Names of other packages are links only where their indexes can be read.
OTHERS = {
    "python": "https://docs.python.org/3/",
    "numpy": "https://numpy.org/doc/stable/",
    "scipy": "https://docs.scipy.org/doc/scipy/",
    "sklearn": "https://scikit-learn.org/stable/",
    "pandas": "https://pandas.pydata.org/docs/",
    "matplotlib": "https://matplotlib.org/stable/",
    "dask": "https://docs.dask.org/en/stable/",
}
if os.environ.get("SKCAL_DOC_ONLINE") == "1":
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {name: (url, None) for name, url in OTHERS.items()}
nitpick_ignore_regex = [
    ("py:.*", r"(sklearn|numpy|scipy|pandas|matplotlib|dask|polars)(\..*)?"),
]

# Examples run in a copy of their folder, so that the pictures they save stay out of the sources.
GALLERY = HERE / "_build" / "examples"
sphinx_gallery_conf = {
    "examples_dirs": str(GALLERY),
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "api/generated/backreferences",
    "doc_module": ("skcal",),
    "reference_url": {"skcal": None},
    "within_subsection_order": "gallery.NewcomersFirst",
    "image_scrapers": ("gallery.scrape",),
    "thumbnail_size": (560, 440),
    "reset_modules": ("matplotlib",),
    "capture_repr": ("_repr_html_",),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "skcal"
html_static_path = ["_static"]
html_css_files = ["skcal.css"]
html_favicon = "_static/logo.svg"
html_show_sphinx = False
html_copy_source = False
html_domain_indices = False
toc_object_entries_show_parents = "hide"
html_show_sourcelink = False
html_sidebars = {"index": [], "getting_started": [], "peers": [], "performance": []}
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "skcal", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": [], "api/index": []},
    "show_prev_next": True,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def _link_doi(name, rawtext, text, lineno, inliner, options=None, content=None):
    return [nodes.reference(rawtext, f"doi:{text}", refuri=f"https://doi.org/{text}")], []


def setup(app):
    """Add the role ``doi``, and copy the examples to where they run."""
    from gallery import copy_examples

    copy_examples(HERE.parent / "examples", GALLERY)
    app.add_role("doi", _link_doi)
