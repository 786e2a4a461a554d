"""Names, literals and comments of generated C."""

from __future__ import annotations

import math
import re
import struct

import pytest
from c_harness import double_pendulum, floating_arm
from hypothesis import given
from hypothesis import strategies as st

from bestiary.build_tools.backends.c_names import (
    KEYWORDS,
    MATH_NAMES,
    Namer,
    member_names,
    program_names,
)
from bestiary.build_tools.backends.c_printer import F32, F64, as_single
from bestiary.build_tools.backends.c_text import comment
from bestiary.modeling.program import InputGroup, Program, ProgramError, ProgramSymbol

FINITE = st.floats(min_value=0, allow_nan=False, allow_infinity=False)
FLOATING_LITERAL = re.compile(r"^\d+(\.\d+)?(e[+-]?\d+)?F?$")


@given(FINITE)
def test_f64_literals_read_back_exactly(value: float) -> None:
    text = F64.literal(value)
    assert FLOATING_LITERAL.match(text)
    assert "." in text or "e" in text
    assert struct.pack("<d", float(text)) == struct.pack("<d", value)


@given(st.floats(min_value=0, max_value=float(2**127), width=32))
def test_f32_literals_read_back_exactly(value: float) -> None:
    text = F32.literal(value)
    assert FLOATING_LITERAL.match(text)
    assert text.endswith("F")
    assert as_single(float(text[:-1])) == value


@given(st.floats(min_value=0, max_value=float(2**127), width=32))
def test_f32_literals_are_no_longer_than_nine_digits(value: float) -> None:
    digits = F32.literal(value)[:-1].split("e")[0].replace(".", "").strip("0")
    assert len(digits) <= 9


def test_integers_are_written_as_floating_point() -> None:
    assert F64.literal(2) == "2.0"
    assert F32.literal(2) == "2.0F"
    assert F64.literal(10**20) == "1e+20"


def test_a_constant_beyond_single_precision_is_refused() -> None:
    with pytest.raises(ProgramError, match="does not fit the C type float"):
        F32.literal(1e39)


def test_comments_cannot_be_closed_or_continued_by_their_text() -> None:
    text = comment("a */ b /* c\n d /*/ \\")
    assert "*/" not in text
    assert "/*" not in text
    assert "\n" not in text
    assert not text.endswith("\\")
    assert comment("m² → ω") == "m^2 -> omega"


@given(st.text())
def test_comments_are_ascii_without_comment_marks(text: str) -> None:
    result = comment(text)
    assert result.isascii()
    assert "*/" not in result
    assert "/*" not in result


def test_members_avoid_reserved_words_of_c_and_cpp() -> None:
    group = InputGroup(
        "parameters", tuple(ProgramSymbol(n) for n in ("mass", "class", "class_", "new")), "", True
    )
    names = member_names(group)
    assert names[0] == "mass"
    assert len(set(names)) == 4
    assert not set(names) & KEYWORDS


@pytest.mark.parametrize("equations", [double_pendulum(), floating_arm()], ids=lambda e: e.name)
def test_variables_are_unique_and_valid(equations) -> None:
    names = program_names(equations.program, equations.name)
    variables = [*names.symbols.values(), *names.statements.values()]
    assert len(set(variables)) == len(variables)
    assert all(re.fullmatch(r"[A-Za-z]\w*", v) for v in variables)
    assert not set(variables) & (KEYWORDS | MATH_NAMES | {"q", "p", "u", "parameters"})


def test_names_of_the_model_are_kept() -> None:
    equations = double_pendulum()
    names = program_names(equations.program, equations.name)
    assert "sin_shoulder" in names.statements.values()
    assert "shoulder" in names.symbols.values()


def test_indices_stay_apart_when_names_differ_in_case_only() -> None:
    symbols = tuple(ProgramSymbol(n) for n in ("x", "X", "x_2"))
    rates = tuple(ProgramSymbol(f"{s.name}_dot") for s in symbols)
    program = Program((InputGroup("p", symbols), InputGroup("p_dot", rates)), (), {}, {})
    enums = program_names(program, "twin").enums
    assert len(set(enums["p"])) == 3
    assert enums["p"][0] == "TWIN_P_X"
    assert enums["p_dot"] == enums["p"]  # rates are indexed like what they are rates of


@given(st.lists(st.sampled_from(["a", "a_2", "b", "a b", "2a"]), max_size=20))
def test_a_namer_never_repeats_itself(wanted: list[str]) -> None:
    namer = Namer(["b"])
    given_names = [namer.take(w) for w in wanted]
    assert len(set(given_names)) == len(given_names)
    assert "b" not in given_names


def test_single_precision_rounding_is_ieee() -> None:
    assert as_single(0.1) == struct.unpack("<f", struct.pack("<f", 0.1))[0]
    assert math.isinf(as_single(1e300))
