"""What mkdocs calls while it builds the site: the pages come from `site_pages`, the navigation from `nav`, the pictures
of the examples from `pictures`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from docs_site.nav import nav
from docs_site.pages import ROOT, picture_of, site_pages
from docs_site.pictures import picture


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = nav()
    # Where the logo leads to, and what browsers lack for searching pages opened from the disk.
    config.extra |= {"homepage": "index.html", "polyfills": ["javascripts/iframe-worker.js"]}
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    drawn = {path.stem: picture(path.stem) for path in sorted((ROOT / "examples").glob("[!_]*.py"))}
    for name, made in drawn.items():
        files.append(File.generated(config, picture_of(name), content=made.svg))
    for name, text in site_pages().items():
        for example, made in drawn.items():
            text = text.replace(f"![Access map of a launch of {example}]", f"![{made.words}]")
        old = files.get_file_from_path(name)
        if old is not None:
            files.remove(old)
        files.append(File.generated(config, name, content=text))
    return files


# What the theme leaves out for people who do not see the page, or use it without a mouse.
ACCESSIBLE = {
    'data-md-component="search" role="dialog"': 'data-md-component="search" role="dialog" aria-label="Search"',
    "<th></th>": "<td></td>",
}
# A part of the navigation is named by a label, which holds an icon alone where the part has a page of its own.
UNNAMED = re.compile(r'aria-labelledby="__nav_[0-9_]+_label"([^>]*>\s*<label class="md-nav__title" for="[^"]*">\s*'
                     r'<span[^>]*></span>\s*)([^<]*?)(\s*<)')


def on_post_page(output: str, page: object, config: MkDocsConfig) -> str:
    for old, new in ACCESSIBLE.items():
        output = output.replace(old, new)
    return UNNAMED.sub(r'aria-label="\2"\1\2\3', output)
