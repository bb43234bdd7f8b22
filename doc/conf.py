"""Sphinx configuration."""

import skcal

project = "skcal"
author = "The skcal developers"
version = release = skcal.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.mathjax", "numpydoc"]
exclude_patterns = ["_build"]
html_theme = "alabaster"
numpydoc_show_class_members = False


def _link_doi(name, rawtext, text, lineno, inliner, options=None, content=None):
    from docutils import nodes

    return [nodes.reference(rawtext, f"doi:{text}", refuri=f"https://doi.org/{text}")], []


def setup(app):
    app.add_role("doi", _link_doi)
