"""Small static functions that generated C may call; a file gets those it needs."""

from __future__ import annotations

from collections.abc import Collection

from .c_printer import Precision

_SOURCES = {
    "min_of": """static T min_of(T a, T b)
{
    return (b < a) ? b : a;
}""",
    "max_of": """static T max_of(T a, T b)
{
    return (b > a) ? b : a;
}""",
    "sign_of": """static T sign_of(T x)
{
    return (x > ZERO) ? ONE : ((x < ZERO) ? -ONE : ZERO);
}""",
    "select_of": """/* The first value where the condition is positive, else the second. */
static T select_of(T condition, T if_positive, T otherwise)
{
    return (condition > ZERO) ? if_positive : otherwise;
}""",
    "all_finite": """static int all_finite(const T *values, int count)
{
    int i;
    for (i = 0; i < count; ++i) {
        if (!(ABS(values[i]) < HUGE)) {
            return 0;
        }
    }
    return 1;
}""",
}


def helper_sources(precision: Precision, needed: Collection[str]) -> list[str]:
    """Definitions of the named helpers in a fixed order."""
    suffix = precision.function_suffix
    words = (
        ("T ", f"{precision.type} "),
        ("ZERO", precision.literal(0)),
        ("ONE", precision.literal(1)),
        ("ABS", f"fabs{suffix}"),
        ("HUGE", f"({precision.type})HUGE_VAL{suffix.upper()}"),
    )
    found = []
    for name, text in _SOURCES.items():
        if name in needed:
            for word, value in words:
                text = text.replace(word, value)
            found.append(text)
    return found
