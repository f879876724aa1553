"""XMLBIF: what real files have, what is written, and what bad and hostile files get."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np
import pytest

from network_examples import LAWN, ODD_NETWORK, SPARSE_NETWORK, described, refused
from tunbridge.formats.xmlbif import read_xmlbif, write_xmlbif
from tunbridge.probability import SparseCPT

AB = """<?xml version="1.0" encoding="US-ASCII"?>
<!-- a comment -->
<!DOCTYPE BIF [
  <!ELEMENT BIF ( NETWORK )*>
  <!ATTLIST BIF VERSION CDATA #REQUIRED>
]>
<BIF VERSION="0.3" xmlns="http://www.cs.ubc.ca/labs/lci/fopi/ve/XMLBIFv0_3">
<NETWORK>
<NAME>A &amp; B</NAME>
<PROPERTY>author = me</PROPERTY>
<VARIABLE TYPE="nature">
  <NAME>A</NAME>
  <OUTCOME>a0</OUTCOME>
  <OUTCOME>a1</OUTCOME>
  <PROPERTY>position = (1, 2)</PROPERTY>
</VARIABLE>
<VARIABLE><NAME> B </NAME><OUTCOME>b &lt; 0</OUTCOME><VALUE>b&#49;</VALUE><OUTCOME><![CDATA[<b2>]]></OUTCOME></VARIABLE>
<DEFINITION><FOR>A</FOR><TABLE>0.3 0.7</TABLE></DEFINITION>
<DEFINITION>
  <FOR>B</FOR>
  <GIVEN>A</GIVEN>
  <TABLE>
    0.1, 0.2, 0.7 <!-- a0
    -->
    0.5 0.25 0.25
  </TABLE>
</DEFINITION>
</NETWORK>
</BIF>
"""


class TestReading:
    def test_all_that_a_file_says(self):
        parts = read_xmlbif(AB)
        a, b = parts.cpts
        assert parts.name == "A & B"
        assert dict(parts.properties) == {"": ("author = me",), "A": ("position = (1, 2)",)}
        assert (a.variable.name, a.variable.states) == ("A", ("a0", "a1"))
        assert (b.variable.name, b.variable.states) == ("B", ("b < 0", "b1", "<b2>"))
        assert a.table().tolist() == [0.3, 0.7]
        assert b.table().tolist() == [[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]]

    def test_the_outcomes_of_the_variable_are_fastest(self):
        table = read_xmlbif(write_xmlbif(LAWN)).cpts[2].table()
        numbers = ElementTree.fromstring(write_xmlbif(LAWN)).findall(".//TABLE")[2].text.split()
        np.testing.assert_array_equal(table.ravel(), np.array(numbers, float))

    def test_empty_properties_are_left_out(self):
        text = AB.replace("<PROPERTY>author = me</PROPERTY>", "<PROPERTY/><PROPERTY> </PROPERTY>")
        text = text.replace("<OUTCOME>a0", "<PROPERTY></PROPERTY><OUTCOME>a0")
        assert dict(read_xmlbif(text).properties) == {"A": ("position = (1, 2)",)}

    def test_other_elements_are_passed_over(self):
        text = AB.replace("<OUTCOME>a0", "<NOTE>n<NAME>x</NAME></NOTE><OUTCOME>a0")
        assert described(read_xmlbif(text)) == described(read_xmlbif(AB))

    def test_definitions_may_come_first_and_carry_properties(self):
        head, _, rest = AB.partition("<VARIABLE TYPE")
        variables, _, definitions = rest.partition("<DEFINITION>")
        body, tail = definitions.split("</NETWORK>")
        body = body.replace("<FOR>A", "<PROPERTY>late</PROPERTY><FOR>A")
        text = f"{head}<DEFINITION>{body}<VARIABLE TYPE{variables}</NETWORK>{tail}"
        assert read_xmlbif(text).properties["A"] == ("position = (1, 2)", "late")
        assert [cpt.table().tolist() for cpt in read_xmlbif(text).cpts] == [
            cpt.table().tolist() for cpt in read_xmlbif(AB).cpts
        ]


JAVABAYES = """
<?XML VERSION="1.0"?>
<!-- blanks, and a declaration in capitals -->
<!DOCTYPE BIF [ <!ELEMENT ENTRY ( VALUE* , TABLE )> ]>
<BIF>
<NETWORK><NAME>old</NAME>
<VARIABLE><NAME>A</NAME><TYPE>discrete</TYPE><VALUE>a0</VALUE><VALUE>a1</VALUE></VARIABLE>
<VARIABLE><NAME>B</NAME><TYPE>discrete</TYPE><VALUE>b0</VALUE><VALUE>b1</VALUE></VARIABLE>
<PROBABILITY><FOR>A</FOR><TABLE>0.3 0.7</TABLE></PROBABILITY>
<PROBABILITY><FOR>B</FOR><GIVEN>A</GIVEN><TABLE>0.6 0.05 0.4 0.95</TABLE></PROBABILITY>
</NETWORK>
</BIF>
"""


class TestJavaBayes:
    def test_the_variable_itself_is_slowest(self):
        parts = read_xmlbif(JAVABAYES)
        assert parts.name == "old"
        assert parts.cpts[1].table().tolist() == [[0.6, 0.4], [0.05, 0.95]]

    def test_from_version_0_3_on_it_is_fastest(self):
        text = JAVABAYES.replace("<BIF>", '<BIF VERSION="0.3">').replace("0.6 0.05 0.4 0.95", "0.6 0.4 0.05 0.95")
        assert read_xmlbif(text).cpts == read_xmlbif(JAVABAYES).cpts

    def test_rows_one_by_one_and_a_default(self):
        rows = "<ENTRY><VALUE>a1</VALUE><TABLE>0.05 0.95</TABLE></ENTRY><DEFAULT><TABLE>0.6 0.4</TABLE></DEFAULT>"
        table = read_xmlbif(JAVABAYES.replace("<TABLE>0.6 0.05 0.4 0.95</TABLE>", rows)).cpts[1]
        assert isinstance(table, SparseCPT)
        assert table.table().tolist() == [[0.6, 0.4], [0.05, 0.95]]

    @pytest.mark.parametrize(
        ("old", "new", "line", "words"),
        [
            ("0.05 0.4", "0.05 0.5", 10, ("'B' given A='a0'", "must sum to 1; got 1.1")),
            ("<TABLE>0.6 0.05 0.4 0.95</TABLE>", "<ENTRY><TABLE>1 0</TABLE></ENTRY>", 10, ("a state of each",)),
            ("<TABLE>0.6 0.05 0.4 0.95</TABLE>", "<ENTRY><VALUE>x</VALUE><TABLE>1 0</TABLE></ENTRY>", 10, ("'x'",)),
            (
                "<TABLE>0.6 0.05 0.4 0.95</TABLE>",
                "<DEFAULT><TABLE>1</TABLE></DEFAULT>",
                10,
                ("2 probabilities; got 1",),
            ),
            ("<FOR>B</FOR>", "<FOR>B<FOR>", 10, ("mismatched tag", "<FOR> in line 10")),
            ("<FOR>B</FOR>", "<FOR>B<\x7fFOR>", 10, ("invalid token", "x7fFOR")),
        ],
    )
    def test_the_place_and_the_reason(self, old, new, line, words):
        assert old in JAVABAYES
        error = refused(read_xmlbif, JAVABAYES.replace(old, new, 1), *words)
        assert error.line == line, str(error)


class TestRefusing:
    @pytest.mark.parametrize(
        ("old", "new", "line", "words"),
        [
            ("0.5 0.25 0.25", "0.5 0.25 0.3", 25, ("'B' given A='a1'", "must sum to 1")),
            ("0.5 0.25 0.25", "0.5 x 0.25", 25, ("numbers", "'x'")),
            ("0.5 0.25 0.25", "0.5 0.25", 20, ("'B' must have 6 probabilities; got 5",)),
            ("0.3 0.7", "0.3 0.6", 18, ("'A'", "must sum to 1")),
            ("<GIVEN>A", "<GIVEN>C", 20, ("declared variables", "'C'")),
            ("<GIVEN>A", "<GIVEN>B", 20, ("distinct", "'B'")),
            ("<FOR>B</FOR>", "", 19, ("<DEFINITION> must have one <FOR>; got none",)),
            ("<FOR>B</FOR>", "<FOR>B</FOR><FOR>A</FOR>", 20, ("<DEFINITION> must have one <FOR>; got another one",)),
            ("<PROPERTY>author = me</PROPERTY>", "<NAME/>", 10, ("<NETWORK> must have one <NAME>; got another one",)),
            ("<OUTCOME>a1</OUTCOME>", "<NAME>C</NAME>", 14, ("<VARIABLE> must have one <NAME>; got another one",)),
            ("<FOR>B", "<FOR>A", 20, ("distinct", "'A'")),
            ("<NAME> B ", "<NAME>A", 17, ("declared once", "'A'")),
            ("<OUTCOME>a1", "<OUTCOME>a0", 12, ("distinct", "'a0'")),
            ('TYPE="nature"', 'TYPE="decision"', 11, ("'A' (decision)", "not supported yet")),
            ('TYPE="nature"', 'TYPE="plate"', 11, ("'nature'", "'plate'")),
            ("<DEFINITION><FOR>A</FOR><TABLE>0.3 0.7</TABLE></DEFINITION>", "", 12, ("must have a table", "'A'")),
            ("</NETWORK>", "<UTILITY><NAME>U</NAME></UTILITY></NETWORK>", 28, ("<VARIABLE>", "got <UTILITY>")),
            ("</NETWORK>", '<node name="U"/></NETWORK>', 28, ("<VARIABLE>", "got <NODE>, which is not supported")),
            ("</NETWORK>", "<G><VARIABLE/></G></NETWORK>", 28, ("<VARIABLE> must be directly in <NETWORK>",)),
            (
                "</NETWORK>",
                "</NETWORK><VARIABLE/>",
                28,
                ("<VARIABLE> must be directly in <NETWORK>; got one in <BIF>",),
            ),
            ("</NETWORK>", "", 29, ("well-formed XML", "mismatched tag")),
            ("</NETWORK>", "</NETWORK><NETWORK></NETWORK>", 28, ("one network",)),
            ("&amp;", "&nbsp;", 9, ("undefined entity",)),
            ("<BIF ", "<bogus ", 7, ("<BIF>",)),
            ("  <!ELEMENT", '  <!ENTITY lol "lol">\n  <!ELEMENT', 4, ("its own entities", "'lol'")),
            ("  <!ELEMENT", '  <!ENTITY x SYSTEM "file:///etc/passwd">\n  <!ELEMENT', 4, ("its own entities",)),
            ("  <!ELEMENT", '  <!ENTITY % x SYSTEM "http://a.b">\n %x; <!ELEMENT', 4, ("its own entities",)),
        ],
    )
    def test_the_place_and_the_reason(self, old, new, line, words):
        assert old in AB
        error = refused(read_xmlbif, AB.replace(old, new, 1), *words)
        assert error.line == line, str(error)

    @pytest.mark.parametrize(
        ("old", "new", "place"),
        [
            ("<TABLE>0.3 0.7", "<TABLE>0.3 0.6", (18, 32)),
            ("<TABLE>0.3 0.7", "<TABLE>0.3 x", (18, 36)),
            ("<TABLE>0.3 0.7", '<TABLE kind="a &gt; b"\n  x=">">0.3 y', (19, 13)),
            ("<TABLE>0.3 0.7", "<TABLE>0.3<!-- a\nb -->y", (19, 6)),
            ("<TABLE>0.3 0.7", "<TABLE><!-- a --><a>1</a>&#48;.3 <![CDATA[y]]>", (18, 67)),
            ("<TABLE>0.3 0.7", "<TABLE>0.3<!-- é -->é", (18, 45)),
            ("0.5 0.25 0.25", "0.5 x 0.25", (25, 9)),
        ],
    )
    def test_the_column(self, old, new, place):
        assert old in AB
        error = refused(read_xmlbif, AB.replace(old, new, 1))
        assert (error.line, error.column) == place, str(error)

    def test_an_entity_of_an_external_document_type_is_not_dropped(self):
        head, _, rest = AB.partition("<!DOCTYPE")
        text = f'{head}<!DOCTYPE BIF SYSTEM "bif.dtd">{rest.partition("]>")[2]}'
        assert described(read_xmlbif(text)) == described(read_xmlbif(AB))
        refused(read_xmlbif, text.replace("a0", "&unknown;"), "'unknown'")

    def test_unknown_elements_without_a_variable_are_dropped(self):
        text = AB.replace("</NETWORK>", "<NOTE>all is <B>well</B></NOTE></NETWORK>")
        assert described(read_xmlbif(text)) == described(read_xmlbif(AB))

    @pytest.mark.parametrize("text", ["", "<BIF/>", "<BIF>", "nothing", "<BIF>\ud800</BIF>"])
    def test_no_network(self, text):
        refused(read_xmlbif, text)

    def test_deep_nesting(self):
        refused(read_xmlbif, "<BIF>" + "<a>" * 100_000, "nested")


class TestWriting:
    @pytest.mark.parametrize("parts", [LAWN, ODD_NETWORK, SPARSE_NETWORK], ids=["lawn", "odd", "sparse"])
    def test_a_round_trip_is_exact(self, parts):
        assert described(read_xmlbif(write_xmlbif(parts))) == described(parts)

    def test_others_can_read_it(self):
        root = ElementTree.fromstring(write_xmlbif(ODD_NETWORK))
        assert root.findall(".//VARIABLE")[0].find("NAME").text == '2nd "test", näive; {x}'
        assert [len(d.findall("GIVEN")) for d in root.findall(".//DEFINITION")] == [0, 1, 1]
