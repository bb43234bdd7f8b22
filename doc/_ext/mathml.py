"""Formulas as MathML, which browsers draw themselves: no script, no network, no flicker."""

import re
from html import escape, unescape
from xml.etree import ElementTree

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import accents, over, tex2mathml
from sphinx.util import logging

# Characters of LaTeX beyond which a formula in the text may be wider than a phone.
LONG = 30
NAMESPACE = "http://www.w3.org/1998/Math/MathML"
# What stands on a letter. A subscript of the letter belongs beside it, not under it.
ACCENTS = set(accents.values()) | {over[name][0] for name in ("overline", "widehat", "widetilde")}

logger = logging.getLogger(__name__)


def setup(app):
    """Register the renderer under the name "mathml"."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _visit_inline(translator, node):
    formula = _convert(node, as_block=False)
    # MathML does not break lines: what may be wider than a phone gets a line that scrolls.
    css_class = "math-long" if len(node.astext()) > LONG else "math"
    translator.body.append(f'<span class="{css_class}">{formula}</span>')
    raise nodes.SkipNode


def _visit_block(translator, node):
    anchors = "".join(f'<span id="{name}"></span>' for name in node.get("ids", ()))
    formula = _convert(node, as_block=True)
    # A wide formula can be scrolled, with the keyboard too.
    translator.body.append(f'<div class="math-block" tabindex="0">{anchors}{formula}</div>\n')
    raise nodes.SkipNode


def _convert(node, *, as_block):
    source = node.astext()
    try:
        return _move_subscripts(tex2mathml(source, as_block=as_block))
    except MathError as error:
        logger.warning("formula %r: %s", source, error, location=node, type="mathml")
        return f'<code class="unread-formula">{escape(source)}</code>'


def _move_subscripts(formula):
    r"""Subscripts of accented letters such as ``\bar y_b``, which docutils sets under them."""
    ElementTree.register_namespace("", NAMESPACE)
    # XML knows no names of characters, such as &ApplyFunction;, but for those of markup itself.
    named = re.compile("&(?!amp;|lt;|gt;|quot;)[a-zA-Z]+;")
    root = ElementTree.fromstring(named.sub(lambda match: unescape(match[0]), formula))
    for node in root.iter(f"{{{NAMESPACE}}}munderover"):
        letter, subscript, accent = node
        if accent.text not in ACCENTS:
            continue
        accented = ElementTree.Element(f"{{{NAMESPACE}}}mover", accent="true")
        accented.extend([letter, accent])
        node.tag = f"{{{NAMESPACE}}}msub"
        node[:] = [accented, subscript]
    return ElementTree.tostring(root, encoding="unicode")
