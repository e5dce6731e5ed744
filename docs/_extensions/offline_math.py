"""Formulas as MathML, made by docutils when the pages are built: nothing is loaded to show them."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def inline_math(translator: HTML5Translator, node: nodes.math) -> None:
    """Write a formula that stands in a line."""
    translator.body.append(tex2mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def display_math(translator: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula that stands on its own."""
    translator.body.append(tex2mathml(node.astext(), as_block=True))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Offer the renderer to Sphinx, by the name "mathml"."""
    app.add_html_math_renderer("mathml", (inline_math, None), (display_math, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
