"""How the documentation is built: Sphinx, MyST, the pydata theme, a gallery of the examples."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import twofold

project = "Twofold"
author = "the authors of Twofold"
release = version = twofold.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "offline_math",
    "our_docstrings",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "figures", "gallery/*.ipynb"]
root_doc = "index"
templates_path = ["_templates"]

# Pages are Markdown. What the repository's own pages link to is found under docs/ by the same name.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
suppress_warnings = ["config.cache"]  # the gallery's settings hold a class, which is not pickled

# Formulas become MathML when the pages are built: a reader needs no network.
html_math_renderer = "mathml"

# The reference is what the docstrings say.
autosummary_generate = True
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say what goes in, with shapes
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # these are run; scripts are only shown
    "example_extensions": {".py", ".sh"},
    "ignore_pattern": r"/data/",
    "download_all_examples": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 3600,
    "plot_gallery": True,
}

html_theme = "pydata_sphinx_theme"
html_title = "Twofold"
html_static_path = ["_static"]
html_css_files = ["twofold.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 8,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "choices": [], "comparison": []}
copyright = "the authors of Twofold, BSD-3-Clause"
