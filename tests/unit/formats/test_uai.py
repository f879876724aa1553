"""UAI models and evidence: what is read, what is written, and what bad files get."""

from __future__ import annotations

import pytest

from network_examples import LAWN, refused
from tunbridge.errors import DataError, DataWarning, FormatError
from tunbridge.formats.uai import read_uai, read_uai_evidence, write_uai, write_uai_evidence

AB = """BAYES
2
2 3
2
1 0   # A
2 0 1 # B

2
 0.3 0.7

6
 0.1 0.2 0.7
 0.5 0.25 0.25
"""


class TestModels:
    def test_all_that_a_file_says(self):
        a, b = read_uai(AB).cpts
        assert (a.variable.name, a.variable.states) == ("x0", ("0", "1"))
        assert (b.variable.name, b.variable.states) == ("x1", ("0", "1", "2"))
        assert b.parents == (a.variable,)
        assert a.table().tolist() == [0.3, 0.7]
        assert b.table().tolist() == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]

    def test_the_last_variable_of_a_table_is_its_own(self):
        swapped = "BAYES 2 2 2 2  2 1 0  1 1  4 0.1 0.9 0.2 0.8  2 0.5 0.5"
        x0, x1 = read_uai(swapped).cpts
        assert (x0.parents, x1.parents) == ((x1.variable,), ())
        assert x0.table().tolist() == [[0.1, 0.9], [0.2, 0.8]]

    def test_the_order_of_agrum(self):
        text = "BAYES\n3\n2 3 2\n3\n1 0{0}\n1 1{0}\n3 0 1 2{0}\n\n2 0.3 0.7\n3 0.2 0.3 0.5\n12 "
        text += " ".join(f"{i / 10} {1 - i / 10}" for i in range(1, 7))  # x0 is slowest, or fastest for aGrUM
        given = {"x0": "1", "x1": "0"}
        for dialect, first in ((None, 0.4), ("agrum", 0.2)):
            table = read_uai(text.format(""), dialect=dialect).cpts[2]
            assert table.distribution(given)["0"] == first
        with pytest.warns(DataWarning, match="give dialect='agrum'.*'x2'"):
            read_uai(text.format("   # name"))
        back = read_uai(write_uai(LAWN, dialect="agrum"), dialect="agrum")
        moved = back.cpts[2].distribution({"x0": "1", "x1": "0"})
        assert list(moved.values()) == list(LAWN.cpts[2].table()[1, 0])

    def test_a_variable_given_itself(self):
        refused(read_uai, "BAYES 1 2 1 2 0 0 4 1 0 0 1", "distinct", "'x0'")

    def test_every_end_of_a_line_ends_a_comment(self):
        assert read_uai(AB.replace("\n", "\r")) == read_uai(AB)

    def test_a_long_scope_does_not_make_huge_numbers(self):
        n = 20_000
        scope = " ".join(map(str, range(n)))
        roots = "1 0 " * (n - 1)
        refused(read_uai, f"BAYES {n} {'999999999 ' * n} {n} {n} {scope} {roots} 7 {'1 ' * n}", "about 10^180000")
        refused(read_uai, f"BAYES 1 9 1 {n} {'0 ' * n} 7 {'1 ' * n}", "distinct", "'x0'")

    def test_no_advice_about_arrays(self):
        square = "BAYES 2 2 2 2 1 0 2 0 1 2 0.5 0.5 4 0.9 0.3 0.1 0.7"
        error = refused(read_uai, square, "must sum to 1; got 1.2. A row gives the probabilities of '0', '1'")
        assert "transpose" not in str(error)

    def test_names_are_lost_and_numbers_are_not(self):
        back = read_uai(write_uai(LAWN))
        assert [v.name for v in back.variables] == ["x0", "x1", "x2"]
        assert [c.table().tolist() for c in back.cpts] == [c.table().tolist() for c in LAWN.cpts]
        assert [[p.name for p in c.parents] for c in back.cpts] == [[], ["x0"], ["x0", "x1"]]

    @pytest.mark.parametrize(
        ("old", "new", "line", "words"),
        [
            ("BAYES", "MARKOV", 1, ("BAYES", "Markov network")),
            ("BAYES", "BAYESIAN", 1, ("'BAYES'",)),
            ("0.5 0.25 0.25", "0.5 0.25 0.3", 13, ("'x1' given x0='1'", "must sum to 1")),
            ("0.5 0.25 0.25", "0.5 0.25 y", 13, ("a number", "'y'")),
            ("0.5 0.25 0.25", "0.5 0.25", 11, ("6 probabilities, as declared", "ends before")),
            ("0.5 0.25 0.25", "0.5 0.25 0.25 1", 13, ("the end of the file",)),
            ("\n6\n", "\n5\n", 11, ("6 probabilities; got 5",)),
            ("2 0 1", "2 1 0", 5, ("each variable must have a table", "x1")),
            ("2 0 1", "2 0 2", 6, ("from 0 to 1", "got 2")),
            ("2 0 1", "2 1 1", 6, ("distinct", "'x1'")),
            ("2 0 1", "0", 6, ("must have variables",)),
            ("2 3", "2 0", 3, ("must have states",)),
            ("2 3", "2 -3", 3, ("the number of states",)),
            ("2 3\n2", "2 3\n1", 4, ("2 variables",)),
            ("\n2\n", "\n999999999\n", 2, ("ends before",)),
            ("\n2\n", "\n99999999999999999999\n", 2, ("the number of variables",)),
            ("2 3", "2 999999999", 11, ("1999999998 probabilities",)),
        ],
    )
    def test_the_place_and_the_reason(self, old, new, line, words):
        assert old in AB
        error = refused(read_uai, AB.replace(old, new, 1), *words)
        assert error.line == line, str(error)


class TestEvidence:
    def test_one_sample_and_several(self):
        assert read_uai_evidence("2 0 1 4 0") == ({"x0": "1", "x4": "0"},)
        assert read_uai_evidence("1\n2 0 1 4 0\n") == ({"x0": "1", "x4": "0"},)
        assert read_uai_evidence("2\n1 0 1\n1 4 0") == ({"x0": "1"}, {"x4": "0"})
        assert read_uai_evidence("0") == ({},)

    @pytest.mark.parametrize(
        ("text", "samples"),
        [
            ("2\n0\n1 1 0\n", ({}, {"x1": "0"})),
            ("2 # samples\r0 # nothing\r1 1 0", ({}, {"x1": "0"})),
            ("\n# two\n\n2\n\n0\n1 1 0", ({}, {"x1": "0"})),
            ("2 0 1\n1 0", ({"x0": "1", "x1": "0"},)),
            ("2 0 1 1 0", ({"x0": "1", "x1": "0"},)),
            ("1\n0", ({},)),
        ],
    )
    def test_a_number_alone_on_the_first_line_is_that_of_the_samples(self, text, samples):
        assert read_uai_evidence(text) == samples

    def test_the_names_of_a_network(self):
        assert read_uai_evidence("2 0 1 2 0", LAWN) == ({"Rain": "yes", "Grass": "dry"},)

    @pytest.mark.parametrize(
        "samples", [[{"Rain": "yes"}], [{}], [{}, {"Rain": "no"}], [{"Grass": "wet", "Rain": "no"}, {}], [{}, {}, {}]]
    )
    def test_a_round_trip(self, samples):
        assert list(read_uai_evidence(write_uai_evidence(samples, LAWN), LAWN)) == samples

    def test_the_number_of_samples_is_always_written(self):
        assert write_uai_evidence([{"Rain": "yes"}], LAWN) == "1\n1 0 1\n"
        with pytest.raises(DataError, match="evidence must have a sample; got none"):
            write_uai_evidence([], LAWN)

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", ("empty",)),
            ("x", ("the number of observed variables",)),
            ("2 0 1 0 1", ("observed once", "'Rain'")),
            ("1 7 0", ("from 0 to 2", "got 7")),
            ("1 2 3", ("'Grass'", "from 0 to 2", "got 3")),
            ("3 0 1", ("ends before",)),
            ("999999999 0 1", ("999999999 samples",)),
            ("1 1 0 1 5", ("the end of the file",)),
            ("1\n0 1", ("the end of the file",)),
        ],
    )
    def test_the_place_and_the_reason(self, text, words):
        refused(lambda text: read_uai_evidence(text, LAWN), text, *words)

    def test_unknown_names_are_refused(self):
        with pytest.raises(DataError, match=r"got 'Rian'\. Did you mean 'Rain'\?"):
            write_uai_evidence([{"Rian": "yes"}], LAWN)
        with pytest.raises(DataError, match="'Rain' must be in one of its states"):
            write_uai_evidence([{"Rain": "maybe"}], LAWN)
        assert not issubclass(DataError, FormatError)
