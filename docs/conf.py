"""Sphinx: `make docs` builds the site into out/docs/html; warnings are errors."""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS / "ext"))

import nystream

project = "nystream"
author = "The nystream developers"
copyright = author
version = release = nystream.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "sphinx.ext.viewcode",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "running",
    "api_pages",
    "algorithm_pages",
    "chart",
    "others",
    "offline",
]
exclude_patterns = ["**/README.md", "README.md", "sg_execution_times.rst", "gallery/sg_execution_times.rst"]
root_doc = "index"
templates_path = ["_templates"]

myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "attrs_inline"]
myst_heading_anchors = 3
myst_url_schemes = ("http", "https", "mailto", "site")
suppress_warnings = ["config.cache", "myst.strikethrough"]

default_role = "obj"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\d\d_",
    "ignore_pattern": r"__init__\.py",
    "within_subsection_order": "FileNameSortKey",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 0,
    "image_scrapers": ("figures.scraper",),
    "matplotlib_animations": False,
    "download_all_examples": False,
    "write_computation_times": True,
    "thumbnail_size": (400, 280),
    "doc_module": (),
    "backreferences_dir": None,
    "plot_gallery": "True",
}

html_theme = "pydata_sphinx_theme"
html_title = "nystream"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_logo = None
html_show_sourcelink = False
html_copy_source = False
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {"text": "nystream"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
    "pygments_dark_style": "monokai",
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "which_learner": []}
html_last_updated_fmt = None
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .output"
linkcheck_ignore = [r"https?://.*"]
