"""Options that take several values in a row: ``--set segments=3 links=4``, ``--functions a b``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bestiary.modeling.animals import BUILT_IN

SETTING = re.compile(r"\s*[A-Za-z_]\w*\s*=.*", re.DOTALL)
NAME = re.compile(r"[A-Za-z_]\w*")


def spread(words: Sequence[str]) -> list[str]:
    """Repeat ``--set`` and ``--functions`` before each of their values.

    Further values of ``--set`` have an equals sign; those of ``--functions`` are
    identifiers that are no built-in robot, which begins the next argument.
    """
    result: list[str] = []
    option = ""
    for number, word in enumerate(words):
        first = number > 0 and words[number - 1] == option
        if first:
            result.append(word)
        elif _continues(option, word):
            result += [option, word]
        else:
            option = word if word in ("--set", "--functions") else ""
            result.append(word)
    return result


def _continues(option: str, word: str) -> bool:
    if option == "--set":
        return SETTING.fullmatch(word) is not None
    return option == "--functions" and word not in BUILT_IN and NAME.fullmatch(word) is not None
