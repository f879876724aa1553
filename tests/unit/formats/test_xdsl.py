"""XDSL: the kinds of nodes of GeNIe, what is written, the order of aGrUM, and what bad files get."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from network_examples import LAWN, ODD_NETWORK, SPARSE_NETWORK, described, refused
from tunbridge.errors import DataWarning, MemoryForecastError
from tunbridge.formats import NetworkParts
from tunbridge.formats.xdsl import read_xdsl, write_xdsl
from tunbridge.probability import NoisyMaxCPT

CLINIC = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- a comment -->
<smile version="1.0" id="clinic" numsamples="1000">
<nodes>
<cpt id="A"><state id="a0" /><state id="a1" />
<probabilities>0.3 0.7</probabilities><property id="source">a book</property></cpt>
<cpt id="B" diagtype="target"><state id="b0" fault="true" /><state id="b1" /><state id="b2" />
<parents>A</parents>
<probabilities>0.1 0.2 0.7 0.5 0.25 0.25</probabilities></cpt>
<deterministic id="D"><state id="lo" /><state id="hi" /><parents>A B</parents>
<resultingstates>lo lo hi lo hi hi</resultingstates></deterministic>
<noisymax id="N"><state id="yes" /><state id="no" /><parents>A B</parents>
<strengths>1 0 0 2 1</strengths>
<parameters>0.8 0.2 0 1 0.6 0.4 0.5 0.5 0 1 0.1 0.9</parameters></noisymax>
</nodes>
<extensions><genie version="1.0" app="GeNIe 2.0" name="The clinic">
<node id="A"><name>A</name><position>1 2 3 4</position></node>
<submodel id="S"><name>sub</name><node id="B"><name>The second</name><comment>two
  lines</comment></node></submodel>
</genie></extensions>
</smile>
"""


class TestReading:
    def test_all_that_a_file_says(self):
        parts = read_xdsl(CLINIC)
        a, b, d, n = parts.cpts
        assert parts.name == "clinic"
        assert parts.properties[""] == ("name = The clinic",)
        assert parts.properties["A"] == ("source = a book", "position = 1 2 3 4")
        assert parts.properties["B"] == ("name = The second", "comment = two lines")
        assert (b.variable.states, [p.name for p in b.parents]) == (("b0", "b1", "b2"), ["A"])
        assert a.table().tolist() == [0.3, 0.7]
        assert b.table().tolist() == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]
        assert d.table()[..., 1].tolist() == [[0, 0, 1], [0, 1, 1]]  # the first parent is slowest
        assert isinstance(n, NoisyMaxCPT)

    def test_noisy_max_by_the_formula(self):
        table = read_xdsl(CLINIC).cpts[3].table()
        alone = {"A": {"a1": 0.8, "a0": 0.0}, "B": {"b0": 0.6, "b2": 0.5, "b1": 0.0}}  # in the order of the strengths
        for i, a in enumerate(["a0", "a1"]):
            for j, b in enumerate(["b0", "b1", "b2"]):
                no = 0.9 * (1 - alone["A"][a]) * (1 - alone["B"][b])
                np.testing.assert_allclose(table[i, j], [1 - no, no], rtol=1e-12, atol=0)

    def test_without_strengths_the_states_have_their_own_order(self):
        text = CLINIC.replace("<strengths>1 0 0 2 1</strengths>", "")
        assert read_xdsl(text).cpts[3].effects[0].tolist() == [[0.8, 0.2], [0, 1]]

    def test_an_unnamed_network_and_names_in_capitals(self):
        text = CLINIC.replace('id="clinic"', 'id="Unnamed"').replace("cpt", "CPT")
        assert read_xdsl(text).name == ""
        assert read_xdsl(text).cpts == read_xdsl(CLINIC).cpts


class TestDialect:
    FAST = """<smile id="x"><nodes>
    <cpt id="A"><state id="0"/><state id="1"/><probabilities>0.3 0.7</probabilities></cpt>
    <cpt id="B"><state id="0"/><state id="1"/><probabilities>0.4 0.6</probabilities></cpt>
    <cpt id="C"><state id="0"/><state id="1"/><parents>A B</parents>
    <probabilities>0.1 0.9 0.2 0.8 0.3 0.7 0.4 0.6</probabilities></cpt></nodes></smile>"""

    @staticmethod
    def row(parts: NetworkParts) -> float:
        return parts.cpts[2].distribution({"A": "1", "B": "0"})["0"]

    def test_the_first_parent_is_fastest_for_agrum(self):
        assert self.row(read_xdsl(self.FAST)) == 0.3
        assert self.row(read_xdsl(self.FAST, dialect="agrum")) == 0.2

    def test_a_file_that_names_agrum_is_read_so_with_a_warning(self):
        app = '</nodes><extensions><genie app="aGrUM 3.3.1"/></extensions>'
        text = self.FAST.replace("</nodes>", app)
        with pytest.warns(DataWarning, match="aGrUM wrote the file.*'C'"):
            assert self.row(read_xdsl(text)) == 0.2
        assert self.row(read_xdsl(text, dialect="agrum")) == 0.2  # without a warning

    def test_writing(self):
        parts = read_xdsl(self.FAST)
        assert self.row(read_xdsl(write_xdsl(parts, dialect="agrum"), dialect="agrum")) == 0.3


class TestRefusing:
    @pytest.mark.parametrize(
        ("old", "new", "line", "words"),
        [
            ("0.5 0.25 0.25", "0.5 0.25 0.3", 9, ("'B' given A='a1'", "must sum to 1")),
            ("0.5 0.25 0.25", "0.5 x 0.25", 9, ("numbers", "'x'")),
            ("0.5 0.25 0.25", "0.5 0.25", 7, ("'B' must have 6 probabilities; got 5",)),
            ("lo lo hi lo hi hi", "lo lo hi lo hi", 11, ("a state for each configuration", "got 5")),
            ("lo lo hi lo hi hi", "lo lo hi lo hi low", 11, ("'D'", "'low'", "'lo'")),
            ("1 0 0 2 1", "1 1 0 2 1", 12, ("permutation", "'1 1'")),
            ("1 0 0 2 1", "1 0 0 2", 12, ("permutation", "'0 2'")),
            ("0.1 0.9</par", "0.1</par", 14, ("'N' must have 12 probabilities; got 11",)),
            ("0.8 0.2 0 1", "0.8 0.3 0 1", 14, ("'N' given A='a1'", "must sum to 1")),
            ("0.1 0.9</par", "0.1 0.8</par", 14, ("'N' must sum to 1",)),
            ("<probabilities>0.3 0.7</probabilities>", "", 5, ("<cpt> must have one <probabilities>",)),
            ("<parents>A</parents>", "<parents>Q</parents>", 7, ("declared variables", "'Q'")),
            ('<state id="a0" />', "<state />", 5, ("<state> must have an id",)),
            ('<cpt id="A">', '<cpt id="A" dynamic="plate">', 5, ("dynamic", "'A'", "not supported")),
            ("</nodes>", '</nodes><dynamic numslices="3"/>', 15, ("dynamic", "not supported")),
            ("</nodes>", '<equation id="E"/></nodes>', 15, ("'E'", "'equation', which is not supported")),
            ("</nodes>", '<noisyadder id="E"/></nodes>', 15, ("'E'", "'noisyadder'")),
            ("</nodes>", '<truthtable id="E"/></nodes>', 15, ("'E'", "'truthtable', which is not supported")),
            ("</nodes>", '<foo id="E"><state id="e"/></foo></nodes>', 15, ("'E' must be a table", "'foo', which is")),
            ("</nodes>", '<state id="E"/></nodes>', 15, ("'E'", "'state', which is not supported")),
            ("</nodes>", '<submodel id="S"><name>S</name></submodel></nodes>', 15, ("'S'", "'submodel', which is")),
            ("</nodes>", '<submodel id="S"><cpt id="E"/></submodel></nodes>', 15, ("<cpt> must", "in <submodel>")),
            ("</nodes>", '</nodes><deterministic id="E"/>', 15, ("<deterministic> must be directly in <nodes>",)),
            (
                "</nodes>",
                "</nodes><part><nodes/></part>",
                15,
                ("<nodes> must be directly in <smile>; got one in <part>",),
            ),
            ("</nodes>", '<mau id="U"/><decision id="Q"/></nodes>', 15, ("'Q' (decision) and 'U' (utility)",)),
            ("<nodes>", "<node>", 15, ("mismatched tag", "<node> in line 4 is not closed")),
            ("<smile", "<simile", 3, ("<smile>", "<simile>")),
            ("<!-- a comment -->", '<!DOCTYPE a [<!ENTITY b "c">]>', 2, ("its own entities",)),
        ],
    )
    def test_the_place_and_the_reason(self, old, new, line, words):
        assert old in CLINIC
        error = refused(read_xdsl, CLINIC.replace(old, new, 1), *words)
        assert error.line == line, str(error)

    def test_extensions_and_what_is_not_in_the_list_of_nodes_may_hold_anything(self):
        other = '</nodes><cases><case name="one"/></cases><extensions><other><cpt id="E"/></other></extensions>'
        text = CLINIC.partition("</nodes>")[0] + other + "</smile>"
        assert [cpt.variable.name for cpt in read_xdsl(text).cpts] == ["A", "B", "D", "N"]

    def test_a_truth_table_is_not_larger_than_the_memory(self, monkeypatch):
        states = "".join(f'<state id="s{i}"/>' for i in range(3000))
        root = f'<cpt id="A">{states}<probabilities>1{" 0" * 2999}</probabilities></cpt>'
        big = f'<deterministic id="D">{states}<parents>A</parents><resultingstates>{"s0 " * 3000}</resultingstates>'
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "60e6")
        with pytest.raises(MemoryForecastError, match="the table of 'D'"):
            read_xdsl(f"<smile><nodes>{root}{big}</deterministic></nodes></smile>")


class TestWriting:
    @pytest.mark.parametrize("parts", [LAWN, ODD_NETWORK, SPARSE_NETWORK], ids=["lawn", "odd", "sparse"])
    def test_a_round_trip_is_exact(self, parts):
        assert described(read_xdsl(write_xdsl(parts))) == described(parts)

    def test_what_was_read_is_written_again(self):
        parts = read_xdsl(CLINIC)
        text = write_xdsl(parts)
        assert described(read_xdsl(text)) == described(parts)
        root = ElementTree.fromstring(text)
        names = [node.find("name").text for node in root.iter("node")]
        assert names == ["A", "The second", "D", "N"]
        assert root.find(".//genie").get("name") == "The clinic"
