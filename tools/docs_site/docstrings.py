"""What mkdocstrings shows of a docstring: the Markdown that the reference of the language has, too."""

from __future__ import annotations

import inspect
from typing import Any

import griffe
from language_page import prose, split


class Docstrings(griffe.Extension):
    """Labelled paragraphs become a list, and the example becomes code."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is None:
            return
        text, example = split(inspect.cleandoc(obj.docstring.value))
        obj.docstring.value = prose(text) + (f"\n\n```python\n{example}\n```" if example else "")
