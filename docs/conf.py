"""Settings of the documentation site: `make docs`."""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
import pages  # noqa: E402

pages.write(ROOT / "docs" / "generated")

project = "simkit"
extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx-mathjax-offline",  # formulas without a network
]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md", "docs/generated/*.md", "notebooks/*.ipynb", "notebooks/README.md",
    "data_cards/*.md", "benchmarks/results/*.md", "atlas/README.md", "CHANGELOG.md",
    "CONTRIBUTING.md",
]  # fmt: skip
napoleon_use_ivar = True  # attributes are described once
napoleon_attr_annotations = False
default_role = "literal"
html_theme = "furo"
html_title = "simkit"
html_copy_source = False
nb_execution_mode = "off"
suppress_warnings = ["misc.highlighting_failure"]  # lines of a shell in notebooks
myst_enable_extensions = ["dollarmath"]
myst_dmath_allow_digits = myst_dmath_allow_space = False  # $300 is money
myst_heading_anchors = 4
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
maximum_signature_line_length = 88


def columns_kept(app, what, name, value, options, lines):
    """Keep paragraphs that are set in columns, a name and its meaning, as they are."""
    columns = re.compile(r"(?m)^(?! ).*[\w)\]] {2,}\S")
    blocks = "\n".join(lines).split("\n\n")
    kept = ["::\n\n" + re.sub("(?m)^", "    ", b) if columns.search(b) else b for b in blocks]
    lines[:] = "\n\n".join(kept).split("\n")


ARRAY = r"~?numpy\.ndarray\[tuple\[~?(?:typing\.)?Any, \.\.\.\], ~?numpy\.dtype\[(.*?)\]\]"
SHORTER = {
    ARRAY: r"NDArray[\1]",
    r"~?(?:typing\.)?Annotated\[(\w+), ~?[\w.]*Range\([^)]*\)\]": r"\1",
    r"<[^<>]*>": "...",  # a default such as <factory>, which Sphinx cannot read
}


def readable(app, what, name, value, options, signature, returns):
    """Short types of arrays and of numbers with a range."""
    for long, brief in SHORTER.items():
        signature, returns = (text and re.sub(long, brief, text) for text in (signature, returns))
    return signature, returns


def first_page(app, failed):
    """The site's root leads to its first page."""
    to_first = '<meta http-equiv="refresh" content="0; url=docs/index.html">'
    (Path(app.outdir) / "index.html").write_text(to_first, encoding="utf-8")


def setup(app):
    app.connect("autodoc-process-docstring", columns_kept, priority=400)  # before napoleon
    app.connect("autodoc-process-signature", readable)
    app.connect("build-finished", first_page)
