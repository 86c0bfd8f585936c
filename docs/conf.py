"""The documentation site: ``make docs`` builds it into build/site, without a network."""

import contextlib
import io
import os
import re
from importlib.metadata import version as version_of
from unittest import mock

from docutils import nodes
from docutils.parsers.rst import Directive

from rboost.cli import main

project = "rboost"
author = "The rboost developers"
copyright = author
version = release = version_of("rboost")

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["seven"]
templates_path = ["_templates"]

# -- Pages ---------------------------------------------------------------------------------------

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4
highlight_language = "none"
copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = False

# -- Docstrings ----------------------------------------------------------------------------------

autosummary_generate = True
autodoc_typehints = "none"  # docstrings say what types are, in words
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # the template of a class shows them
# There is no network to look the names of other projects up; those of this one are checked.
nitpick_ignore_regex = [("py:.*", r"(numpy|scipy|sklearn|pandas|matplotlib|dask)\..*")]


def skip_routing(app, kind, name, member, skip, options):
    """Leave out the methods that scikit-learn makes for its metadata routing."""
    return True if re.fullmatch("get_metadata_routing|set_.*_request", name) else skip


# -- Gallery -------------------------------------------------------------------------------------

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib", "seaborn"),
    "remove_config_comments": True,
    "show_memory": False,
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
}

# -- Look ----------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["custom.css"]
html_title = f"rboost {release}"
html_copy_source = html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "rboost"},
    "navigation_with_keys": False,
    "header_links_before_dropdown": 7,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
# Pages with none below them have no list of these beside them.
alone = ("index", "ten_minutes", "ten_minutes_python", "changelog", "contributing", "search")
html_sidebars = dict.fromkeys(alone, [])


# -- The command line ----------------------------------------------------------------------------


class CommandHelp(Directive):
    """What ``rboost … --help`` prints, for the words of a command."""

    optional_arguments = 1
    final_argument_whitespace = True

    def run(self):
        """Print the help as the command does, in lines of a common length."""
        words = self.arguments[0].split() if self.arguments else []
        with (
            mock.patch.dict(os.environ, COLUMNS="80"),
            contextlib.redirect_stdout(io.StringIO()) as printed,
            contextlib.suppress(SystemExit),
        ):
            main([*words, "--help"])
        return [nodes.literal_block(text=printed.getvalue(), language="none")]


def setup(app):
    """Add what is written here to Sphinx."""
    app.add_directive("command-help", CommandHelp)
    app.connect("autodoc-skip-member", skip_routing)
