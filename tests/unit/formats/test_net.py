"""Hugin NET: what real files have, what is written, and what bad files get."""

from __future__ import annotations

import re

import pytest

from network_examples import LAWN, ODD_NETWORK, SPARSE_NETWORK, described, refused
from tunbridge.errors import DataWarning
from tunbridge.formats.net import read_net, write_net
from tunbridge.formats.network_files import read_network_parts, write_network_parts

AB = """net
{
  node_size = (50 50);
  name = "a b";
}
node A
{
  states = ("a0" "a1");
  label = "100% sure?";   % a comment; with { marks
  position = (25 275);
}
discrete node B { states = (b0 "b 1" 2); }
potential (A) { data = ( 0.3 0.7 ); }
potential (B | A)
{
  data = (( 0.1 0.2 0.7 )   % a0
          ( 0.5 0.25 0.25 ));   % a1
  experience = (10 20);
}
"""


class TestReading:
    def test_all_that_a_file_says(self):
        parts = read_net(AB)
        a, b = parts.cpts
        assert parts.name == "a b"
        assert parts.properties[""] == ("node_size = (50 50)",)
        assert parts.properties["A"] == ('label = "100% sure?"', "position = (25 275)")
        assert parts.properties["B"] == ("experience = (10 20)",)
        assert a.variable.states == ("a0", "a1")
        assert b.variable.states == ("b0", "b 1", "2")
        assert a.table().tolist() == [0.3, 0.7]
        assert b.table().tolist() == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]

    def test_a_flat_list_of_numbers_is_the_same(self):
        flat = re.sub(r"\(\( 0.1 0.2 0.7 \)   % a0\s*\( 0.5 0.25 0.25 \)\)", "( .1 .2 .7 .5 .25 .25 )", AB)
        assert flat != AB
        assert described(read_net(flat)) == described(read_net(AB))

    @pytest.mark.parametrize("end", ["\r", "\r\n"])
    def test_every_end_of_a_line_ends_a_comment(self, end):
        assert described(read_net(AB.replace("\n", end))) == described(read_net(AB))

    def test_an_expression_keeps_its_signs_and_belongs_to_the_table(self):
        model = 'model_data = ( if (A == "a0; %",\n\t Normal(1, 2),   % a comment; (\n -3 ));'
        text = AB.replace("experience", f"model_nodes = (A);\n{model}\nexperience")
        parts = read_net(text)
        line = 'model_data = ( if (A == "a0; %", Normal(1, 2), -3 ))'
        assert parts.properties["B"] == ("model_nodes = (A)", line, "experience = (10 20)")
        assert described(read_net(write_net(parts))) == described(parts)
        assert f"    {line};" in write_net(parts).partition("potential ( B")[2]

    def test_a_name_of_several_words_is_a_property(self):
        parts = read_net(AB.replace('"a b"', "(a b)"))
        assert (parts.name, parts.properties[""]) == ("", ("node_size = (50 50)", "name = (a b)"))

    def test_no_bar_or_nothing_behind_it(self):
        assert described(read_net(AB.replace("(A)", "(A | )"))) == described(read_net(AB))

    def test_the_first_parent_is_slowest(self):
        text = write_net(LAWN)
        assert "((0.25 0.3333333333333333 0.4166666666666667)" in text.replace("((0.0", "").replace(") (", ")\n((")
        assert described(read_net(text)) == described(LAWN)


GAUSSIAN = """net { }
node A { states = (a b); } node B { states = (p q r); }
continuous node X { label = "x"; } continuous node Y { }
potential (A) { data = (0.25 0.75); } potential (B) { data = (0.5 0.25 0.25); }
potential (X) { data = normal ( -1.5, 2.25 ); }
potential (Y | A X B)
{
  data = (( normal ( 0.7 + 0.3 * X, 1 ) normal(1-2*X,4) normal ( -X, 0.25 ) )   % a
          ( normal ( X * 1e-1 * 2, 1 ) normal ( 3, 1 ) normal ( - 0.5 * X + 1 - -1 + X, 1 ) ));
}
"""


class TestContinuous:
    def test_regressions_for_each_configuration_of_the_discrete_parents(self):
        x, y = read_net(GAUSSIAN).cpts[2:]
        assert (float(x.intercepts), float(x.variances)) == (-1.5, 2.25)
        assert [p.name for p in y.parents] == ["A", "X", "B"]
        assert y.intercepts.tolist() == [[0.7, 1, 0], [0, 3, 2]]
        assert y.coefficients[..., 0].tolist() == [[0.3, -2, -1], [0.2, 0, 0.5]]
        assert y.variances.tolist() == [[1, 4, 0.25], [1, 1, 1]]

    def test_a_round_trip_is_exact(self, tmp_path):
        parts = read_net(GAUSSIAN)
        write_network_parts(tmp_path / "n.net", parts)
        assert read_network_parts(tmp_path / "n.net") == parts
        assert read_network_parts(tmp_path / "n.net").properties == parts.properties

    @pytest.mark.parametrize(
        ("old", "new", "line", "words"),
        [
            ("normal ( 3, 1 )", "", 8, ("'Y'", "a normal distribution for each configuration", "got 5")),
            ("normal ( 3, 1 )", "normal ( 3 )", 9, ("a mean", "a variance")),
            ("normal ( 3, 1 )", "normal ( , )", 9, ("a mean", "a variance")),
            ("normal ( 3, 1 )", "normal ( 3 *, 1 ) ", 9, ("a variance",)),
            ("normal ( 3, 1 )", "normal ( 3 *", 8, ("as many '(' as ')'",)),
            ("normal ( 3, 1 )", "normal ( X * X, 1 )", 9, ("a continuous parent", "'X'")),
            ("normal ( 3, 1 )", "normal ( 3 * A, 1 )", 9, ("a continuous parent", "'A'")),
            ("normal ( 3, 1 )", "normal ( 3 / X, 1 )", 9, ("a sign", "'/'")),
            ("normal ( 3, 1 )", "normal ( 3, 1 ) ) (", 9, ("'Y' must hold 6, 3 or 1 distributions", "got 2")),
            ("normal ( 3, 1 )", "gamma ( 3, 1 )", 9, ("'normal'", "'gamma'")),
            ("normal ( 3, 1 )", "normal ( 3, 0 )", 6, ("'Y'", "0")),
            ("potential (A)", "potential (A | X)", 4, ("must be categorical", "'X'")),
        ],
    )
    def test_the_place_and_the_reason(self, old, new, line, words):
        assert old in GAUSSIAN
        error = refused(read_net, GAUSSIAN.replace(old, new, 1), *words)
        assert error.line == line, str(error)


NUMBERS = "0.1 0.9 0.2 0.8 0.3 0.7 0.4 0.6 0.5 0.5 0.6 0.4"


class TestBrackets:
    @staticmethod
    def three(data: str) -> str:
        nodes = "node A { states = (a b); } node C { states = (p q r); } node B { states = (x y); }"
        roots = "potential (A) { data = (0.5 0.5); } potential (C) { data = (0.25 0.25 0.5); }"
        return f"net {{ }} {nodes} {roots}\npotential (B | A C)\n{{ data = {data}; }}"

    @pytest.mark.parametrize(
        "data",
        [
            NUMBERS,
            f"({NUMBERS})",
            f"(({NUMBERS}))",
            "((0.1 0.9) (0.2 0.8) (0.3 0.7) (0.4 0.6) (0.5 0.5) (0.6 0.4))",
            "(0.1 0.9 0.2 0.8 0.3 0.7) (0.4 0.6 0.5 0.5 0.6 0.4)",
            "((0.1 0.9 (0.2 0.8) 0.3 0.7) (0.4 0.6 0.5 0.5 0.6 (0.4)))",
            "(((0.1 0.9) (0.2 0.8) (0.3 0.7)) ((0.4 0.6) (0.5 0.5) (0.6 0.4)))",
        ],
    )
    def test_brackets_that_fit_may_be_left_out(self, data):
        table = read_net(self.three(data)).cpts[2].table()
        assert table.ravel().tolist() == [float(number) for number in NUMBERS.split()]
        assert table.shape == (2, 3, 2)

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            (
                "(((0.1 0.9) (0.2 0.8)) ((0.3 0.7) (0.4 0.6)) ((0.5 0.5) (0.6 0.4)))",
                ("'B' must hold 12, 6, 2 or 1 numbers", "got 4"),
            ),
            ("((0.1 0.9 0.2) (0.8 0.3 0.7) (0.4 0.6 0.5) (0.5 0.6 0.4))", ("got 3",)),
            ("(0.1 (0.9 0.2) 0.8 0.3 0.7 0.4 0.6 0.5 0.5 0.6 0.4)", ("got 2 after the first 1",)),
            (f"(() {NUMBERS})", ("got 0",)),
            (f"){NUMBERS}(", ("as many '(' as ')'",)),
        ],
    )
    def test_brackets_that_contradict_the_parents(self, data, words):
        error = refused(read_net, self.three(data), *words)
        assert error.line == 3, str(error)


class TestWeights:
    def test_integers_are_divided_by_their_sum(self):
        text = AB.replace("( 0.3 0.7 )", "( 10 90 )").replace("( 0.1 0.2 0.7 )", "( 1 1 2 )")
        with pytest.warns(DataWarning, match=r"weights.*'A', 'B'\.$") as caught:
            a, b = read_net(text.replace("( 0.5 0.25 0.25 )", "( 0 0 1 )")).cpts
        assert len(caught) == 1
        assert a.table().tolist() == [0.1, 0.9]
        assert b.table().tolist() == [[0.25, 0.25, 0.5], [0, 0, 1]]

    def test_only_the_row_of_zeros_is_wrong(self):
        text = AB.replace("( 0.1 0.2 0.7 )", "( 0 0 0 )").replace("( 0.5 0.25 0.25 )", "( 2 1 1 )")
        error = refused(read_net, text, "'B' given A='a0'", "must sum to 1; got 0")
        assert "rows" not in str(error)

    def test_a_row_of_integers_among_others_is_an_error(self):
        refused(read_net, AB.replace("( 0.1 0.2 0.7 )", "( 1 1 2 )"), "'B' given A='a0'", "must sum to 1; got 4")


class TestRefusing:
    @pytest.mark.parametrize(
        ("old", "new", "line", "words"),
        [
            ("0.5 0.25 0.25", "0.5 0.25 0.3", 17, ("'B' given A='a1'", "must sum to 1")),
            ("0.5 0.25 0.25", "0.5 0.25 y", 17, ("a number", "'y'")),
            ("0.5 0.25 0.25", "0.5 0.25", 14, ("'B' must have 6 probabilities; got 5",)),
            ("0.25 ));", "0.25 );", 16, ("as many '(' as ')'",)),
            ("(B | A)", "(B | C)", 14, ("declared variables", "'C'")),
            ("(B | A)", "(B A)", 14, ("'|'", "'A'")),
            ("(B | A)", "(B | A A)", 14, ("distinct", "'A'")),
            ("potential (A) { data = ( 0.3 0.7 ); }", "", 6, ("must have a table", "'A'")),
            ("data = ( 0.3 0.7 );", "", 13, ("must have data", "'A'")),
            ("data = ( 0.3 0.7 );", "data = ( 0.3 0.7 )", 13, ("';'",)),
            ("discrete node B", "discrete B", 12, ("'node'", "'B'")),
            ("discrete node B", "node A", 12, ("declared once", "'A'")),
            ("discrete node B", "continuous node B", 12, ("must not have states", "'B'")),
            ("discrete node B", "decision B", 12, ("'B' (decision)", "not supported yet")),
            ("discrete node B", "utility U { } decision B", 12, ("'B' (decision) and 'U' (utility)",)),
            ("net\n", "class X\n", 1, ("without classes", "'class'", "not supported")),
            ("data = ( 0.3 0.7 )", "model_data = (A == 1)", 13, ("'A' must have data", "an expression alone")),
            ("( 0.3 0.7 )", "( 3 -7 )", 13, ("must be at least 0", "-7")),
            ("( 0.3 0.7 )", "( 0 0 )", 13, ("must sum to 1", "0")),
            ("( 0.3 0.7 )", "()", 13, ("must have 2 probabilities; got 0",)),
            ("net\n", "nets\n", 1, ("'net', 'node' or 'potential'", "'nets'")),
            ('("a0" "a1")', '"a0"', 8, ("between '(' and ')'",)),
            ('("a0" "a1")', "()", 8, ("must have states",)),
            ('("a0" "a1")', '("a0" "a1)', 8, ("quote is not closed",)),
            ("position = (25 275)", "position (25 275)", 10, ("a statement",)),
            ('label = "100%', "label = 100%", 10, ("';'", "'='")),
            ('label = "100% sure?";', "states = (x y);", 9, ("one 'states'", "another one")),
            ("experience = (10 20)", "data = (1 0 0 1 0 0)", 18, ("one 'data'", "another one")),
            ("node_size = (50 50)", 'name = "c"', 4, ("one 'name'", "another one")),
            ("discrete node B", "net { } node B", 12, ("one network",)),
            ("experience = (10 20);", "model_data = (A == 1", 19, ("';'", "the end of the file")),
            ("experience = (10 20);", 'model_data = "A == 1;', 18, ("';'",)),
        ],
    )
    def test_the_place_and_the_reason(self, old, new, line, words):
        assert old in AB
        error = refused(read_net, AB.replace(old, new, 1), *words)
        assert error.line == line, str(error)

    @pytest.mark.parametrize("piece", ["(", "{", "net {", "node a {", '"', "%", "a = ", "potential ("])
    def test_a_repeated_piece_does_not_hang(self, piece):
        refused(read_net, piece * 100_000 + "\n?")

    def test_deep_nesting_of_data(self):
        deep = "(" * 100_000 + "0.3 0.7" + ")" * 100_000
        assert described(read_net(AB.replace("( 0.3 0.7 )", deep))) == described(read_net(AB))


class TestWriting:
    @pytest.mark.parametrize("parts", [LAWN, ODD_NETWORK, SPARSE_NETWORK], ids=["lawn", "odd", "sparse"])
    def test_a_round_trip_is_exact(self, parts):
        assert described(read_net(write_net(parts))) == described(parts)

    def test_a_file_comes_back_with_its_attributes(self):
        assert described(read_net(write_net(read_net(AB)))) == described(read_net(AB))
        assert "    experience = (10 20);\n}" in write_net(read_net(AB)).partition("potential ( B")[2]

    def test_nodes_are_identifiers_and_labels_say_the_true_name(self):
        text = write_net(ODD_NETWORK)
        names = re.findall(r"^node (.*)$", text, re.MULTILINE)
        assert all(re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) for name in names)
        assert len(set(names)) == 3
        assert "node" not in names
        assert 'label = " spaced "' in text
