"""Descriptions of parameters, from the docstrings of classes."""

from __future__ import annotations

import inspect
import re

__all__ = ["descriptions"]

SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}$|\Z)", re.MULTILINE | re.DOTALL)
ENTRY = re.compile(r"^(\*{0,2}\w[\w, *]*?)(?: :[ \t]*([^\n]*))?\n((?:[ \t]+[^\n]*\n?|\n)*)", re.MULTILINE)


def descriptions(cls: type) -> dict[str, str]:
    """Return the parameters of a class with their descriptions, each in one line; base classes fill the gaps.

    Examples
    --------
    >>> from nystream import FOGD
    >>> descriptions(FOGD)["dim"]
    'Number of features, two per direction.'
    """
    found: dict[str, str] = {}
    for base in cls.__mro__:
        section = SECTION.search(inspect.cleandoc(base.__dict__.get("__doc__") or ""))
        for names, kind, text in ENTRY.findall(section.group(1) + "\n") if section else ():
            line = " ".join(text.split()) or " ".join(kind.split())
            for name in names.split(","):
                found.setdefault(name.strip(" *"), line)
    return found
