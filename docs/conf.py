"""How the site is built: ``make docs``, or ``python -m sphinx -W -n -b html docs build/site``.

Nothing is fetched: formulas become MathML, pictures are drawn, and scripts and fonts come with the theme.
What the build writes among the sources (``api/``, ``gallery/``, ``_pictures/``) is not in version control.
"""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# The code of the site, and of the checkout (the benchmarks, whose tables it shows).
sys.path[:0] = [str(HERE), str(ROOT), str(ROOT / "src")]

import consilience  # noqa: E402

project = "consilience"
author = "The consilience developers"
copyright = author
version = release = consilience.__version__

extensions = [
    "_ext.api",
    "_ext.tree",
    "_ext.inserts",
    "_ext.mathml",
    "_ext.references",
    "_ext.quiet",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]

root_doc = "index"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
# Machinery, and what sphinx-gallery leaves beside its pages.
exclude_patterns = [
    "_*",
    "gallery/**.ipynb",
    "gallery/**.py",
    "gallery/**.zip",
    "gallery/**.json",
    "gallery/**.md5",
]
templates_path = ["_templates"]
nitpicky = True

# Markdown
# -------------------------------------------------------------------------------------------------------

myst_enable_extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False

# Reference from docstrings
# --------------------------------------------------------------------------------------

autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_class_signature = "mixed"
numpydoc_show_class_members = False  # the template of a class lists them
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

toc_object_entries_show_parents = "hide"

# Gallery
# --------------------------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "within_subsection_order": "FileNameSortKey",  # scripts are numbered as they are best read
    "examples_dirs": [str(ROOT / "examples" / "gallery")],
    "gallery_dirs": ["gallery"],
    "filename_pattern": r"/plot_",
    "backreferences_dir": "api/examples",
    "doc_module": ("consilience",),
    "prefer_full_module": {r"consilience\.\w+"},
    "write_computation_times": False,  # that page loads files from elsewhere
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "_ext.quiet.first_use"),
    "matplotlib_animations": False,
    "min_reported_time": 10,
    "parallel": 2,
    "nested_sections": False,
}

# The pages
# ------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "consilience"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
html_search_scorer = str(HERE / "_static" / "scorer.js")  # pages of research come last
html_show_search_summary = False  # summaries are fetched, which a page opened from disk may not
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "consilience"},
    "header_links_before_dropdown": 6,
    "show_prev_next": False,
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "collapse_navigation": True,
    "navbar_align": "left",
    "footer_start": ["version"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}

copybutton_exclude = ".linenos, .gp, .go"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
