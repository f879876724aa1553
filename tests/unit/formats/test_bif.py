"""BIF: what real files have, what is written, and what bad files get."""

from __future__ import annotations

import numpy as np
import pytest

from network_examples import LAWN, ODD_NETWORK, SPARSE_NETWORK, described, refused
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.formats import NetworkParts
from tunbridge.formats._scanner import StateCodes
from tunbridge.formats.bif import read_bif, write_bif
from tunbridge.probability import CPT, SparseCPT, noisy_or

AB = """network unknown {
}
variable A {
  type discrete [ 2 ] { a0, a1 };
}
variable B {
  type discrete [ 3 ] { b0, b1, b2 };
}
probability ( A ) {
  table 0.3, 0.7;
}
probability ( B | A ) {
  (a0) 0.1, 0.2, 0.7;
  (a1) 0.5, 0.25, 0.25;
}
"""


def tables(text: str) -> list[list]:
    return [cpt.table().tolist() for cpt in read_bif(text).cpts]


class TestReading:
    def test_nodes_arcs_states_and_numbers(self):
        a, b = read_bif(AB).cpts
        assert (a.variable, b.variable) == (Variable("A", ["a0", "a1"]), Variable("B", ["b0", "b1", "b2"]))
        assert (a.parents, b.parents) == ((), (a.variable,))
        assert a.table().tolist() == [0.3, 0.7]
        assert b.table().tolist() == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (",", " "),
            ("|", ","),
            ("|", " "),
            ("probability ( A )", "// a comment { ; ( \nprobability ( A )"),
            ("probability ( A )", "/* a comment\n { ; ( // */probability/**/( A )"),
            ("0.3", "0.3// three\n"),
            ("}\nprobability", "};\nprobability"),
            ("discrete [ 2 ]", "discrete"),
            ("discrete [ 2 ]", "discrete[2]"),
            ("(a1) 0.5, 0.25, 0.25;\n", '("a1") 5e-1 +.25 25E-2;\n  property late;\n'),
            ("(a1) 0.5, 0.25, 0.25;", "property between; (a1) 0.5, 0.25, 0.25;"),
            ("(a1) 0.5, 0.25, 0.25;", "default 0.5, 0.25, 0.25;"),
            ("\n", "\r\n"),
            ("\n", "\r"),
            ("probability ( A )", "// a comment { ; ( \rprobability ( A )"),
            ("\n", " "),
            ("a0", '"a 0"'),
            ("B", "variable"),
            ("B", "probability"),
            ("A", "table"),
            ("a0", "property"),
        ],
    )
    def test_other_ways_to_write_the_same(self, old, new):
        changed = AB.replace(old, new)
        assert changed != AB
        assert tables(changed) == tables(AB)

    def test_blocks_come_in_any_order(self):
        head, _, rest = AB.partition("probability")
        assert described(read_bif("probability" + rest + head)) == described(read_bif(AB))

    def test_rows_come_in_any_order(self):
        swapped = AB.replace("(a0)", "(x)").replace("(a1)", "(a0)").replace("(x)", "(a1)")
        assert tables(swapped)[1] == tables(AB)[1][::-1]

    def test_a_table_lists_the_variable_slowest(self):
        text = AB.replace("(a0) 0.1, 0.2, 0.7;\n  (a1) 0.5, 0.25, 0.25;", "table 0.1, 0.5, 0.2, 0.25, 0.7, 0.25;")
        assert tables(text) == tables(AB)

    def test_two_parents_count_with_the_last_one_fastest(self):
        text = """variable A { type discrete { x y }; } variable B { type discrete { 1 2 3 }; }
        variable C { type discrete { c }; } variable D { type discrete [2] { n, y }; }
        probability (A) { table 0.5 0.5; } probability (B) { table 0 0 1; } probability (C) { table 1; }
        probability (D | A, C, B) { (y, c, 3) 0.25 0.75; default 1 0; (x, c, 2) 0.5 0.5; }"""
        d = read_bif(text).cpts[-1]
        assert isinstance(d, SparseCPT)
        assert d.shape == (2, 1, 3, 2)
        assert d.table()[1, 0, 2].tolist() == [0.25, 0.75]
        assert d.table()[0, 0, 1].tolist() == [0.5, 0.5]
        assert d.n_rows == 2
        assert d.default.tolist() == [1, 0]

    def test_states_of_real_files(self):
        states = "Asy/Patch, <5, 12+, 0-3_days, 7, >=7.5"
        text = f"variable X {{ type discrete [ 6 ] {{ {states} }}; }} probability (X) {{ table 1 0 0 0 0 0; }}"
        assert read_bif(text).cpts[0].variable.states == ("Asy/Patch", "<5", "12+", "0-3_days", "7", ">=7.5")

    def test_properties_are_kept_with_their_node(self):
        text = """network "my net" { property author = "me, myself" ; property two
        lines; property; }
        variable A { property first; type discrete { a }; property url = http://x.y/*z*/; }
        probability (A) { property late = (1, 2); table 1; property last; }"""
        parts = read_bif(text)
        assert parts.name == "my net"
        assert parts.properties[""] == ('author = "me, myself"', "two\n        lines", "")
        assert parts.properties["A"] == ("first", "url = http://x.y/*z*/", "late = (1, 2)", "last")

    def test_unknown_is_no_name(self):
        assert read_bif("network unknown { }").name == ""
        assert read_bif('network "unknown" { }').name == "unknown"
        assert read_bif("network { }").name == ""

    def test_rows_within_the_tolerance_are_rescaled(self):
        assert sum(tables(AB.replace("0.3, 0.7", "0.3, 0.7000009"))[0]) == pytest.approx(1, rel=1e-15, abs=0)

    def test_thirds_of_six_digits_are_rescaled(self):
        rows = tables(AB.replace("0.5, 0.25, 0.25", "0.333333, 0.333333, 0.333333"))[1]
        np.testing.assert_allclose(rows[1], 1 / 3, rtol=1e-15, atol=0)


class TestRefusing:
    @pytest.mark.parametrize(
        ("old", "new", "line", "words"),
        [
            ("0.5, 0.25, 0.25", "0.5, 0.25, 0.3", 14, ("'B' given A='a1'", "must sum to 1", "1.05")),
            ("0.5, 0.25, 0.25", "0.5, 0.75, -0.25", 14, ("B='b2' given A='a1'", "at least 0", "-0.25")),
            ("0.5, 0.25, 0.25", "0.5, nan, 0.25", 14, ("given A='a1'", "finite")),
            ("0.5, 0.25, 0.25", "0.5, 1e999, 0.25", 14, ("given A='a1'", "finite")),
            ("0.3, 0.7", "0.3, 0.6", 10, ("'A'", "must sum to 1", "0.9")),
            ("0.3, 0.7", "0.3, 0.3, 0.4", 10, ("'A'", "2 probabilities", "got 3")),
            ("0.25, 0.25", "0.5", 14, ("a row of 'B'", "3 probabilities", "got 2")),
            ("0.25, 0.25", "0.25, x", 14, ("a number", "'x'")),
            ("0.25, 0.25", "0.25, 0_1", 14, ("a number", "'0_1'")),
            ("0.25, 0.25", "0.25, １", 14, ("a number",)),
            ("(a1)", "(a2)", 14, ("'A' must be in one of its states", "'a2'", "Known: 'a0', 'a1'")),
            ("(a1)", "(a1, a1)", 14, ("a state of each of its parents, 1", "got 2")),
            ("(a1)", "(a0)", 14, ("one row", "'B' given A='a0'")),
            ("  (a1) 0.5, 0.25, 0.25;\n", "", 12, ("a row for every configuration", "there is none given A='a1'")),
            ("(a1) 0.5, 0.25, 0.25;", "(a1) 0.5, 0.25, 0.25", 14, ("must end with ';'",)),
            ("(a1) 0.5", "(a1 0.5", 14, ("must end with ')'",)),
            ("( B | A )", "( B | C )", 12, ("declared variables", "'C'")),
            ("( B | A )", "( B | B )", 12, ("distinct", "'B'")),
            ("( B | A )", "( A | B )", 12, ("one table", "'A'")),
            ("( B | A )", "( )", 12, ("the name of a variable",)),
            ("variable B", "variable A", 6, ("declared once", "'A'")),
            (
                "probability ( A )",
                "variable C { type discrete { c }; } probability ( A )",
                9,
                ("must have a table", "'C'"),
            ),
            ("[ 3 ]", "[ 4 ]", 7, ("4 states, as declared", "got 3")),
            ("[ 3 ]", "[ 99999999999999999999 ]", 7, ("the number of states",)),
            ("b0, b1, b2", "", 7, ("must have states",)),
            ("b0, b1, b2", "b0, b1, b1", 6, ("distinct", "'b1'")),
            ("b0, b1, b2", 'b0, "b1, b2', 7, ("quote is not closed",)),
            ("discrete [ 3 ]", "continuous", 7, ("'discrete'", "'continuous'")),
            ("variable B", "decision B", 6, ("'variable'", "'decision'")),
            ("variable B {", "variable B (", 6, ("'{'", "'('")),
            ("variable B", "variable {", 6, ("the name of a variable",)),
            ("(a0)", "rows (a0)", 13, ("a row, 'table', 'default' or 'property'", "'rows'")),
            ("  (a1) 0.5, 0.25, 0.25;\n}\n", "", 13, ("must end with '}'",)),
            ("(a1) 0.5, 0.25, 0.25;", "default 0.5, 0.25, 0.25; default 0.5, 0.25, 0.25;", 14, ("one default row",)),
            ("(a1) 0.5, 0.25, 0.25;", "default 0.5, 0.25, 0.35;", 12, ("the default row", "must sum to 1")),
            ("(a1) 0.5, 0.25, 0.25;", "table 1 2 3 4 5 6;", 14, ("'table'",)),
            ("{\n}", "{ property never ends\n}", 1, ("must end with ';'",)),
            ("{\n}", "{ x; }", 1, ("'property'", "'x'")),
            ("variable A", "network again { } variable A", 3, ("one network", "another one")),
            ("};\n}\nvariable B", "}; type discrete { x y };\n}\nvariable B", 4, ("'A' must have one type",)),
            ("a0, a1", '"a0\r", a1', 4, ("quote is not closed",)),
        ],
    )
    def test_the_place_and_the_reason(self, old, new, line, words):
        assert old in AB
        error = refused(read_bif, AB.replace(old, new, 1), *words)
        assert error.line == line, str(error)

    def test_the_column(self):
        error = refused(read_bif, AB.replace("(a1)", "(a2)"))
        assert (error.line, error.column) == (14, 4)

    def test_a_cycle_is_named(self):
        text = """variable A { type discrete { x }; } variable B { type discrete { x }; }
        probability ( A | B ) { (x) 1; } probability ( B | A ) { (x) 1; }"""
        refused(read_bif, text, "cycle", "'A' → 'B' → 'A'")

    @pytest.mark.parametrize("text", ["", " \n ", "// nothing\n"])
    def test_an_empty_text(self, text):
        refused(read_bif, text, "empty")

    def test_a_huge_declared_table_costs_nothing(self):
        variables = "".join(f"variable v{i} {{ type discrete {{ a b c d }}; }}\n" for i in range(40))
        roots = "".join(f"probability (v{i}) {{ table 1 0 0 0; }}\n" for i in range(1, 40))
        given = ", ".join(f"v{i}" for i in range(1, 40))
        refused(read_bif, f"{variables}{roots}probability (v0 | {given}) {{ table 1 0 0 0; }}", "2^62")
        given = ", ".join(f"v{i}" for i in range(1, 31))
        refused(read_bif, f"{variables}{roots}probability (v0 | {given}) {{ table 1 0 0 0; }}", "about 10^19")
        refused(read_bif, f"{variables}{roots}probability (v0 | {given}) {{ }}", "a row for every configuration")

    @pytest.mark.parametrize(
        "piece", ["(", "{", "[", "probability (", "property ", '"', "/*", "/", " ", "variable a {", "x" * 9]
    )
    def test_a_repeated_piece_does_not_hang(self, piece):
        refused(read_bif, piece * 100_000 + "?")

    def test_the_name_of_a_long_variable_is_cut_between_its_quotes(self):
        refused(read_bif, AB.replace("B | A", f"B | {'b' * 1000}"), f"got '{'b' * 57}…'.")

    def test_a_property_of_many_spaces_does_not_hang(self):
        text = f"network x {{ property a{' ' * 200_000}b; property c{' ' * 200_000}; }}"
        assert read_bif(text).properties[""] == (f"a{' ' * 200_000}b", "c")

    def test_states_are_numbered_once_for_all_tables(self):
        codes = StateCodes(by_index=True)
        assert codes.of("a", ("x", "y")) == {"x": 0, '"x"': 0, "0": 0, "y": 1, '"y"': 1, "1": 1}
        assert codes.of("a", ("x", "y")) is codes.of("a", ("x", "y"))
        assert codes.of("b", ("x",)) == {"x": 0, '"x"': 0, "0": 0}

    def test_a_hint_among_thousands_of_long_names_does_not_hang(self):
        names = [f"{'ab' * 2000}{i}" for i in range(3000)]
        variables = "".join(f"variable {name} {{ type discrete {{ x }}; }}" for name in names)
        refused(read_bif, f"{variables} probability ({'ba' * 2000}) {{ table 1; }}", "declared variables")

    def test_percentages_are_recognised(self):
        refused(read_bif, AB.replace("0.3, 0.7", "30, 70"), "must sum to 1; got 100. They look like percentages.")

    def test_true_names_that_make_no_sense(self):
        markers = ["name = %FF", "states = a", "states = x y"]
        for marker, word in zip(markers, ["UTF-8", "as many", "as many"], strict=True):
            declared = f"variable A {{ type discrete {{ a b c }}; property tunbridge_{marker}; }}"
            text = declared + " probability (A) { table 1 0 0; }"
            refused(read_bif, text, word)
        twice = AB.replace("variable B {", "variable B { property tunbridge_name = A;")
        refused(read_bif, twice, "distinct", "'A'")


class TestWriting:
    @pytest.mark.parametrize("parts", [LAWN, ODD_NETWORK, SPARSE_NETWORK], ids=["lawn", "odd", "sparse"])
    def test_a_round_trip_is_exact(self, parts):
        back = read_bif(write_bif(parts))
        assert described(back) == described(parts)
        assert [type(cpt) for cpt in back.cpts] == [type(cpt) for cpt in parts.cpts]

    def test_a_sparse_table_of_many_configurations_stays_small(self):
        parents = [Variable(f"p{i}", range(20)) for i in range(12)]
        sparse = SparseCPT(Variable("x", ["a", "b"]), parents, {tuple(range(12)): [0.1, 0.9]}, [0.5, 0.5])
        parts = NetworkParts("", [*(CPT(p, [], np.full(20, 0.05)) for p in parents), sparse])
        text = write_bif(parts)
        assert len(text) < 10_000
        assert read_bif(text).cpts[-1].rows([range(12)]).tolist() == [[0.1, 0.9]]

    def test_other_tables_are_written_out(self):
        cold = Variable("Cold", ["no", "yes"])
        fever = noisy_or(Variable("Fever", ["no", "yes"]), {cold: 0.4}, leak=0.01)
        back = read_bif(write_bif(NetworkParts("", [CPT(cold, [], [0.9, 0.1]), fever])))
        np.testing.assert_allclose(back.cpts[1].table(), fever.table(), rtol=1e-15, atol=0)

    def test_states_that_are_no_text_become_text(self):
        parts = NetworkParts("", [CPT(Variable("n", [3, 2.5, False, True]), [], np.full(4, 0.25))])
        assert read_bif(write_bif(parts)).cpts[0].variable.states == ("3", "2.5", "False", "True")

    def test_states_that_read_alike_are_refused(self):
        parts = NetworkParts("", [CPT(Variable("n", [1, "1"]), [], [0.5, 0.5])])
        with pytest.raises(DataError, match=r"'n' must differ when they are written as text; got '1' more than once"):
            write_bif(parts)

    def test_plain_names_are_not_quoted(self):
        text = write_bif(LAWN)
        assert '"' not in text
        assert "  (no, on) 0.25, 0.3333333333333333, 0.4166666666666667;" in text
