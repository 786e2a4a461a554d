"""Names that may appear in a model: each becomes an identifier of the generated code."""

from __future__ import annotations

import re

from .errors import ModelError

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
MACROS = frozenset(
    """
    I NULL EOF NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL M_PI RAND_MAX BUFSIZ FILENAME_MAX
    bool complex imaginary true false errno stdin stdout stderr assert typeof asm linux unix
    """.split()
)
"""Words that the C or Python headers may have replaced before the compiler sees them."""
C_KEYWORDS = frozenset(
    """
    auto break case char const continue default do double else enum extern float for goto if
    inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while
    """.split()
)


def identifier(name: str, what: str) -> str:
    """Return ``name`` if it can be an identifier.

    Raises
    ------
    ModelError
        Otherwise; ``what`` says in the message what was to be named.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in C_KEYWORDS:
        raise ModelError(
            f"{what} name {name!r} must be letters, digits and underscores, begin with a letter "
            "and not be a C keyword: it becomes a name in the generated code"
        )
    if name in MACROS or name.startswith("Py_"):
        raise ModelError(
            f"{what} name {name!r} is a macro of the C or Python headers, which would replace it "
            "in the generated code; choose another, such as a longer word"
        )
    return name
