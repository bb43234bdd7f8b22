"""Configuration of Sphinx.

``python -m sphinx -W --keep-going doc doc/_build/html`` builds the site without a network. Its
formulas are drawn by MathJax, which browsers load from its public server. With
``SKCAL_DOC_ONLINE=1`` in the environment names of other packages become links to their sites.
"""

import os
import sys
import tomllib
from pathlib import Path

import skcal

project = "skcal"
author = "The skcal developers"
project_copyright = "the skcal developers, BSD 3-Clause licence"
version = release = skcal.__version__
pyproject = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
urls = tomllib.loads(pyproject)["project"].get("urls", {})

sys.path.insert(0, str(Path(__file__).parent))  # for the modules beside this file

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "page_plot",
]
exclude_patterns = ["_build", "_templates", "auto_examples/**/*.ipynb", "auto_examples/**/*.py"]
templates_path = ["_templates"]
default_role = "autolink"
nitpicky = True
extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}

# A page for all that is in `__all__`, by the templates in _templates/autosummary.
autosummary_ignore_module_all = False
sections = (Path(__file__).parent / "api" / "sections.toml").read_text(encoding="utf-8")
autosummary_context = {"api_sections": tomllib.loads(sections)}
# Pages of displays open with a program and its picture.
plot_include_source = True
plot_html_show_source_link = plot_html_show_formats = False
plot_formats = [("png", 144)]
plot_rcparams = {"savefig.bbox": "tight"}
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
    ("py:.*", r"(sklearn|numpy|scipy|pandas|matplotlib|dask|polars|skops)(\..*)?"),
    ("py:obj", r"[a-z_]+"),  # names of fields and arguments in single backticks
]

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": [
        f"../examples/{group}" for group in ("start", "measure", "repair", "beyond", "papers")
    ],
    "within_subsection_order": "gallery_order.QuickstartFirst",
    "ignore_pattern": r"larger_than_memory\.py",  # takes minutes
    "backreferences_dir": "auto_examples/backreferences",
    "doc_module": ("skcal",),
    "reference_url": {"skcal": None},
    # Examples that fail or warn fail the build.
    "reset_modules": ("gallery_warnings.raise_warnings", "matplotlib"),
    "reset_modules_order": "both",
    "image_scrapers": ("gallery_pictures.save_pictures",),
    "capture_repr": ("_repr_html_",),
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_signature": False,
    "write_computation_times": False,
}

html_theme = "pydata_sphinx_theme"
html_title = f"skcal {release}"
html_static_path = ["_static"]
html_css_files = ["skcal.css"]
html_favicon = "_static/logo.svg"
html_show_sphinx = False
html_copy_source = False
html_domain_indices = False
toc_object_entries_show_parents = "hide"
html_show_sourcelink = False
# Pages without others below them.
ALONE = "index", "getting_started", "performance", "peers", "glossary", "bibliography"
html_sidebars = dict.fromkeys((*ALONE, "deprecations", "changelog"), ())
html_theme_options = {
    "logo": {
        "text": f"skcal {release}",
        "image_light": "_static/logo.svg",
        "image_dark": "_static/logo.svg",
    },
    "navbar_align": "left",
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
if "Source" in urls:
    html_theme_options["github_url"] = urls["Source"]


def _fill_in(app, docname, source):
    """Write the tables of the API's index, which come from sections.toml."""
    if docname == "api/index":
        source[0] = app.builder.templates.render_string(source[0], autosummary_context)


def _leave_out(app, what, name, obj, skip, options):
    """Leave out what scikit-learn documents, and fields of records: those are their attributes."""
    module = getattr(getattr(obj, "fget", obj), "__module__", None) or ""
    return (what == "class" and not module.startswith("skcal.")) or skip


def setup(app):
    """Fill in the API's index, and choose the methods on the pages of classes."""
    app.connect("source-read", _fill_in)
    app.connect("autodoc-skip-member", _leave_out)
