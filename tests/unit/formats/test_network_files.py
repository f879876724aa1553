"""Network files: suffixes, encodings, gzip, the native file, atomic writing, and the networks of the repositories."""

from __future__ import annotations

import copy
import gzip
import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from network_examples import GRASS, LAWN, ODD_NETWORK, RAIN, SPARSE_NETWORK, SPRINKLER, described
from tunbridge._core import registry
from tunbridge._core.registry import entries
from tunbridge.data import Variable
from tunbridge.errors import DataError, FileMissingError, FormatError, MemoryForecastError
from tunbridge.formats import NetworkParts, native
from tunbridge.formats.bif import write_bif
from tunbridge.formats.native import write_model
from tunbridge.formats.network_files import (
    SUFFIXES,
    network_suffixes,
    read_network_parts,
    write_network_parts,
)
from tunbridge.formats.xmlbif import write_xmlbif
from tunbridge.network import BayesianNetwork
from tunbridge.probability import CPT, NoisyMaxCPT, SparseCPT, noisy_or

FORMATS = entries("network_format")
NAMED = [suffix for suffix in SUFFIXES if suffix != ".uai"]
NETWORKS = [
    *("alarm", "andes", "asia", "cancer", "child", "earthquake", "hailfinder", "hepar2"),
    *("insurance", "link", "munin1", "pigs", "sachs", "survey", "water", "win95pts"),
]


ROOT = {"parents": [], "kind": "dense", "probabilities": np.array([0.5, 0.5]), "counts": None}


def sparse(configurations: object) -> dict:
    """Return a sparse table of Sprinkler given Rain as a native file holds it."""
    rows = {"configurations": configurations, "probabilities": np.array([[0.5, 0.5]])}
    return {"parents": [0], "kind": "sparse", **rows, "default": np.array([0.5, 0.5]), "counts": None}


def noisy(order: object) -> dict:
    """Return a noisy-MAX table of Sprinkler given Rain as a native file holds it."""
    effects = [np.array([[0.5, 0.5], [0.25, 0.75]])]
    return {"parents": [0], "kind": "noisy-max", "effects": effects, "leak": np.array([0.5, 0.5]), "order": order}


class TestSuffixes:
    @pytest.mark.parametrize("suffix", NAMED)
    @pytest.mark.parametrize("parts", [LAWN, ODD_NETWORK, SPARSE_NETWORK], ids=["lawn", "odd", "sparse"])
    def test_a_round_trip(self, tmp_path, suffix, parts):
        path = tmp_path / f"network{suffix}"
        write_network_parts(path, parts)
        assert described(read_network_parts(path)) == described(parts)

    @pytest.mark.parametrize("suffix", [s for s in SUFFIXES if s != ".tb"])
    def test_gzipped_text(self, tmp_path, suffix):
        write_network_parts(tmp_path / f"n{suffix.upper()}.gz", LAWN)
        write_network_parts(tmp_path / f"n{suffix}", LAWN)
        assert (
            gzip.decompress((tmp_path / f"n{suffix.upper()}.gz").read_bytes()) == (tmp_path / f"n{suffix}").read_bytes()
        )
        back = read_network_parts(tmp_path / f"n{suffix.upper()}.gz")
        assert back == read_network_parts(str(tmp_path / f"n{suffix}"))

    @pytest.mark.parametrize("format", FORMATS)
    def test_the_format_may_be_given(self, tmp_path, format):
        write_network_parts(tmp_path / "network", LAWN, format)
        back = read_network_parts(tmp_path / "network", format=format)
        assert [cpt.table().tolist() for cpt in back.cpts] == [cpt.table().tolist() for cpt in LAWN.cpts]

    def test_other_suffixes_are_refused(self, tmp_path):
        with pytest.raises(FormatError, match=r"must end in '\.bif', .*'\.tb', .*'\.xmlbif'.*got 'net\.doc'"):
            write_network_parts(tmp_path / "net.doc", LAWN)
        with pytest.raises(FormatError, match="format='bif'"):
            read_network_parts(tmp_path / "net")
        with pytest.raises(DataError, match=r"format must be one of .*got 'biff'\. Did you mean 'bif'\?"):
            read_network_parts(tmp_path / "net", format="biff")
        with pytest.raises(DataError, match="already compressed"):
            write_network_parts(tmp_path / "net.tb.gz", LAWN)
        assert os.listdir(tmp_path) == []

    def test_dialects(self, tmp_path):
        for suffix in (".uai", ".xdsl"):
            write_network_parts(tmp_path / f"n{suffix}", LAWN, dialect="agrum")
            back = read_network_parts(tmp_path / f"n{suffix}", dialect="agrum").cpts[2]
            assert [p.n_states for p in back.parents] == [2, 2]
        with pytest.raises(DataError, match="dialect must be one of 'agrum' for uai; got 'smile'"):
            read_network_parts(tmp_path / "n.uai", dialect="smile")
        with pytest.raises(DataError, match="dialect must be None for bif; got 'agrum'"):
            write_network_parts(tmp_path / "n.bif", LAWN, dialect="agrum")

    def test_a_missing_file(self, tmp_path):
        write_network_parts(tmp_path / "lawn.bif", LAWN)
        with pytest.raises(FileMissingError, match=r"Did you mean '.*lawn\.bif'\?"):
            read_network_parts(tmp_path / "lwan.bif")
        with pytest.raises(FileMissingError, match="no folder"):
            read_network_parts(tmp_path / "nowhere" / "lawn.bif")
        with pytest.raises(DataError, match="folder or a device"):
            read_network_parts(tmp_path, format="bif")


class TestText:
    TEXT = 'variable Größe { type discrete { "é" b }; } probability (Größe) { table 0.5 0.5; }'

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
    def test_encodings(self, tmp_path, encoding):
        (tmp_path / "n.bif").write_bytes(self.TEXT.encode(encoding))
        variable = read_network_parts(tmp_path / "n.bif").variables[0]
        assert variable == Variable("Größe", ["é", "b"])

    def test_old_windows_programs_and_after_them_any_byte(self, tmp_path):
        text = self.TEXT.replace("é", "“5–12”")
        (tmp_path / "n.bif").write_bytes(text.encode("cp1252"))
        assert read_network_parts(tmp_path / "n.bif").variables[0].states == ("“5–12”", "b")
        (tmp_path / "n.xml").write_bytes(write_xmlbif(LAWN).replace("off", "–").encode("cp1252"))
        assert read_network_parts(tmp_path / "n.xml").variables[1].states == ("–", "on")
        (tmp_path / "n.bif").write_bytes(self.TEXT.replace("é", "é\x81").encode("latin-1"))
        assert read_network_parts(tmp_path / "n.bif").variables[0].states == ("é\x81", "b")

    @pytest.mark.parametrize("encoding", ["iso-8859-1", "windows-1252", "UTF-8", "utf-16"])
    def test_an_xml_file_names_its_encoding(self, tmp_path, encoding):
        parts = NetworkParts("", [CPT(Variable("Größe", ["é", "b"]), [], [0.5, 0.5])])
        text = write_xmlbif(parts).replace('"UTF-8"', f'"{encoding}"')
        (tmp_path / "n.xml").write_bytes(text.encode(encoding))
        assert read_network_parts(tmp_path / "n.xml") == parts

    def test_a_declaration_that_is_not_quite_xml(self, tmp_path):
        parts = NetworkParts("", [CPT(Variable("Größe", ["é", "b"]), [], [0.5, 0.5])])
        text = write_xmlbif(parts)
        for declared, encoding in (("US-ASCII", "utf-8"), ("us-ascii", "cp1252"), ("GB2312", "gb2312")):
            old = text.replace("é", "e").replace("ö", "o").replace("ß", "ss") if encoding == "gb2312" else text
            old = old.replace("UTF-8", declared).replace("?xml version", "?XML VERSION")
            (tmp_path / "N.XML").write_bytes(b" \r\n" + old.encode(encoding))
            assert read_network_parts(tmp_path / "N.XML").variables[0].states[1] == "b"
        (tmp_path / "N.XML").write_bytes(b"\xef\xbb\xbf \n" + text.encode())
        assert read_network_parts(tmp_path / "N.XML") == parts

    @pytest.mark.parametrize("encoding", ["zlib", "rot13", "punycode", "no-such"])
    def test_other_encodings_are_refused(self, tmp_path, encoding):
        (tmp_path / "n.xml").write_text(write_xmlbif(LAWN).replace("UTF-8", encoding))
        with pytest.raises(FormatError, match=encoding):
            read_network_parts(tmp_path / "n.xml")

    def test_an_error_names_the_file_and_the_place(self, tmp_path):
        (tmp_path / "n.bif").write_text("network x {\n  bogus\n}")
        with pytest.raises(FormatError, match=r"^line 2, column 3: .*'bogus'\. The file is '.*n\.bif'\.$") as caught:
            read_network_parts(tmp_path / "n.bif")
        assert (caught.value.line, caught.value.column) == (2, 3)

    def test_binary_and_damaged_files(self, tmp_path):
        path = tmp_path / "n.bif"
        for content in [b"network\0x", b"", gzip.compress(b"network x { }" * 1000)[:-9], b"\x1f\x8bnothing"]:
            path.write_bytes(content)
            with pytest.raises(FormatError, match=r"n\.bif"):
                read_network_parts(path)

    def test_a_gzip_bomb_is_refused_while_it_is_unpacked(self, tmp_path, monkeypatch):
        (tmp_path / "n.bif.gz").write_bytes(gzip.compress(b" " * 50_000_000))
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "100e6")
        with pytest.raises(MemoryForecastError, match=r"n\.bif\.gz"):
            read_network_parts(tmp_path / "n.bif.gz")

    def test_a_text_that_would_not_fit_is_not_begun(self, tmp_path, monkeypatch):
        parents = [Variable(f"p{i}", ["a", "b"]) for i in range(40)]
        tables = [CPT(p, [], [0.5, 0.5]) for p in parents]
        huge = NetworkParts("", [*tables, noisy_or(Variable("x", ["no", "yes"]), dict.fromkeys(parents, 0.5))])
        for suffix in (".bif", ".xml", ".net", ".dsc", ".xdsl", ".dsl", ".uai"):
            with pytest.raises(MemoryForecastError, match="native file"):
                write_network_parts(tmp_path / f"n{suffix}", huge)
        write_network_parts(tmp_path / "n.tb", huge)
        assert read_network_parts(tmp_path / "n.tb") == huge


class TestWritingOverAFile:
    @pytest.mark.parametrize("suffix", SUFFIXES)
    def test_the_old_file_stays_when_writing_fails(self, tmp_path, suffix, monkeypatch):
        path = tmp_path / f"n{suffix}"
        write_network_parts(path, LAWN)
        old = path.read_bytes()

        def fail(*_):
            raise OSError("the disk is full")

        monkeypatch.setattr(native.os, "fsync", fail)
        with pytest.raises(DataError, match="the disk is full"):
            write_network_parts(path, ODD_NETWORK)
        assert path.read_bytes() == old
        assert os.listdir(tmp_path) == [path.name]

    def test_nothing_is_left_when_the_network_cannot_be_written(self, tmp_path):
        with pytest.raises(DataError, match="written as text"):
            write_network_parts(tmp_path / "n.bif", NetworkParts("", [CPT(Variable("n", [1, "1"]), [], [0.5, 0.5])]))
        assert os.listdir(tmp_path) == []


class TestNative:
    def test_all_kinds_of_tables_with_counts_and_typed_states(self, tmp_path):
        number = Variable("number", [1, 2.5, False, "1"], ordered=True)
        parts = NetworkParts(
            "typed",
            [
                CPT(number, [], [0.25, 0.25, 0.25, 0.25], counts=[1, 2, 3, 4.5]),
                CPT(RAIN, [number], np.tile([0.3, 0.7], (4, 1)), counts=np.arange(8).reshape(4, 2)),
                SparseCPT(GRASS, [number, RAIN], {(2.5, "no"): [0, 0, 1]}, [0.2, 0.3, 0.5], counts=[[0, 0, 7]]),
                noisy_or(SPRINKLER, {RAIN: 0.3}, leak=0.1),
            ],
            {"": ("a",), "Rain": ("b;", "c\n")},
        )
        write_network_parts(tmp_path / "n.tb", parts)
        back = read_network_parts(tmp_path / "n.tb")
        assert back == parts
        assert [type(cpt) for cpt in back.cpts] == [CPT, CPT, SparseCPT, NoisyMaxCPT]
        assert back.variables[0].states == number.states
        assert list(map(type, back.variables[0].states)) == [int, float, bool, str]
        assert back.variables[0].ordered
        for one, other in zip(back.cpts, parts.cpts, strict=True):
            assert (one.counts is None) == (other.counts is None)
            np.testing.assert_array_equal(one.counts, other.counts)

    def test_other_models_are_refused(self, tmp_path):
        write_model(tmp_path / "m.tb", "naive-bayes", {})
        with pytest.raises(FormatError, match="must hold a network; it holds a model of the kind 'naive-bayes'"):
            read_network_parts(tmp_path / "m.tb")

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("name", 3),
            ("variables", [RAIN, RAIN]),
            ("variables", [RAIN]),
            ("tables", None),
            ("tables", [{"parents": [], "kind": "dense", "probabilities": np.array([0.5, 0.4]), "counts": None}] * 2),
            ("tables", [{"parents": [5], "kind": "dense", "probabilities": np.array([0.5, 0.5]), "counts": None}] * 2),
            ("tables", [{"parents": [], "kind": "no-such"}] * 2),
            ("tables", [{"parents": [1], "kind": "noisy-max", "effects": [], "leak": None, "order": [0, 1]}] * 2),
            ("tables", [{"parents": [], "kind": "dense", "probabilities": [10**400, 0], "counts": None}] * 2),
            ("tables", [{"parents": [], "kind": "dense", "probabilities": [0.5, 0.5], "counts": [10**400, 0]}] * 2),
            *(("tables", [ROOT, sparse(numbers)]) for numbers in [[0.0], [0.7], [-1], [2], [10**400], [[0]], 0, "0"]),
            *(("tables", [ROOT, sparse(np.array(numbers))]) for numbers in [[0.0], [0.7], [-1], [2], [[0]]]),
            *(("tables", [ROOT, noisy(order)]) for order in [[0, -1], [-2, -1], [0, 2], [0, 0], [0], [0.0, 1], None]),
            ("properties", {"Nobody": ["x"]}),
            ("properties", {"Rain": [1]}),
        ],
    )
    def test_content_that_does_not_fit_is_refused(self, tmp_path, key, value):
        content = {"name": "", "variables": [RAIN, SPRINKLER], "tables": [ROOT, ROOT], "properties": {}}
        for good in (ROOT, sparse(np.array([0])), noisy([1, 0])):
            write_model(tmp_path / "m.tb", "network", {**content, "tables": [ROOT, good]})
            assert len(read_network_parts(tmp_path / "m.tb").cpts) == 2
        write_model(tmp_path / "m.tb", "network", {**content, key: value})
        with pytest.raises(FormatError, match="must hold a model of kind 'network'; its content"):
            read_network_parts(tmp_path / "m.tb")

    def test_configurations_that_parents_cannot_have_are_refused(self, tmp_path):
        for number in (-1, 2):
            sparse = {"kind": "sparse", "configurations": np.array([number]), "probabilities": np.array([[0.5, 0.5]])}
            child = {"parents": [0], **sparse, "default": np.array([0.5, 0.5]), "counts": None}
            root = {"parents": [], "kind": "dense", "probabilities": np.array([0.5, 0.5]), "counts": None}
            content = {"name": "", "variables": [RAIN, SPRINKLER], "tables": [root, child], "properties": {}}
            write_model(tmp_path / "m.tb", "network", content)
            with pytest.raises(FormatError, match="configuration that its parents cannot have"):
                read_network_parts(tmp_path / "m.tb")


class TestParts:
    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
    def test_they_never_change(self, again):
        parts = again(ODD_NETWORK)
        assert parts == ODD_NETWORK
        assert dict(parts.properties) == dict(ODD_NETWORK.properties)
        with pytest.raises(TypeError, match="does not support item assignment"):
            parts.properties["node"] = ("x",)

    def test_what_was_given_may_change(self):
        given = {"Rain": ["a"]}
        parts = NetworkParts("", [CPT(RAIN, [], [0.5, 0.5])], given)
        given["Rain"].append("b")
        given[""] = ["c"]
        assert dict(parts.properties) == {"Rain": ("a",)}


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "tb"])
def test_arrays_of_a_file_cannot_be_written_to(name):
    format = FORMATS[name].load()
    for cpt in format.read(format.write(SPARSE_NETWORK)).cpts:
        for array in cpt._values():
            assert not array.flags.writeable
            assert array.base is None or not array.base.flags.writeable


def same_as_pyagrum(parts: NetworkParts, path: Path) -> None:
    """Check nodes, arcs, states and probabilities against what pyAgrum reads."""
    gum = pytest.importorskip("pyagrum")
    net = gum.loadBN(str(path))
    assert {cpt.variable.name for cpt in parts.cpts} == set(net.names())
    for cpt in parts.cpts:
        name, theirs = cpt.variable.name, net.cpt(cpt.variable.name)
        assert list(net.variable(name).labels()) == list(cpt.variable.states)
        assert {net.variable(p).name() for p in net.parents(name)} == {p.name for p in cpt.parents}
        order = [p.name for p in cpt.parents] + [name]
        array = theirs.toarray()  # its axes are its variables in reverse
        axes = list(reversed(theirs.names))
        array = array.transpose([axes.index(n) for n in order])
        array = array / array.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(cpt.table(), array, rtol=0, atol=2e-7)  # pyAgrum reads BIF in single precision


REFUSED = {
    "JavaBayes-ALARM.XML": "invalid token",
    "ProbCog-alarm-bn.xml": "'Alarm' given Earthquake='False', Burglary='False' must sum to 1; got 0.991",
    "aGrUM-OilWildcatter.xml": "'Testing', 'Drilling' (decision) and 'Cost', 'Reward' (utility). Decision networks",
    "aGrUM-OilWildcatterExtended.xml": "'Testing' (decision)",
    "aGrUM-Pinball.xdsl": "(decision) and 'TotalRevenue' (utility)",
    "aGrUM-carpo.bif": "a variable must have a table; 'N117' has none",
    "aGrUM-carpo.dsl": "'N117' must sum to 1; got 0",
    "aGrUM-decAsia.xml": "'H', 'Ta' (decision) and 'Uh', 'Ut' (utility)",
}
"""What is wrong with files of other programs that are damaged, incomplete or not Bayesian networks."""


@pytest.mark.shared
class TestFilesOfOtherPrograms:
    @pytest.fixture(scope="class")
    def folder(self, shared_data):
        folder = shared_data.parent / "foreign"
        if not folder.is_dir():
            pytest.skip("the files of other programs are not beside the repository")
        return folder

    @pytest.mark.filterwarnings("ignore::tunbridge.errors.DataWarning")
    def test_they_are_read_or_refused_for_their_reason(self, folder, tmp_path):
        paths = [path for path in sorted(folder.iterdir()) if path.name != "README.md"]
        assert paths
        for path in paths:
            if path.name in REFUSED:
                with pytest.raises(FormatError, match=re.escape(REFUSED[path.name])) as caught:
                    read_network_parts(path)
                assert caught.value.line is not None
                continue
            parts = read_network_parts(path)
            BayesianNetwork.from_tables(parts.cpts).posteriors()
            suffix = ".net" if any(v.is_continuous for v in parts.variables) else ".xdsl"
            write_network_parts(tmp_path / f"n{suffix}", parts)
            assert read_network_parts(tmp_path / f"n{suffix}") == parts, path.name

    @pytest.mark.peer
    @pytest.mark.filterwarnings("ignore::tunbridge.errors.DataWarning")
    @pytest.mark.parametrize("name", ["alarm.dsl", "insurance.dsl", "insurance.bif", "insurance.bifxml", "test2.net"])
    def test_marginals_as_pyagrum_computes_them(self, folder, name):
        gum, path = pytest.importorskip("pyagrum"), folder / f"aGrUM-{name}"
        theirs = gum.LazyPropagation(gum.loadBN(str(path)))
        for variable, answer in BayesianNetwork.from_tables(read_network_parts(path).cpts).posteriors().items():
            other = np.array(theirs.posterior(variable).tolist())  # it does not rescale rows
            np.testing.assert_allclose(list(answer.values()), other / other.sum(), rtol=0, atol=2e-5)


@pytest.mark.shared
class TestRepositoryNetworks:
    @pytest.mark.peer
    @pytest.mark.parametrize("name", [name for name in NETWORKS if name != "child"])
    def test_as_pyagrum_reads_it(self, shared_data, name):
        path = shared_data / "networks" / f"{name}.bif"
        same_as_pyagrum(read_network_parts(path), path)

    @pytest.mark.peer
    def test_child_as_pgmpy_reads_it(self, shared_data):
        readwrite = pytest.importorskip("pgmpy.readwrite")
        path = shared_data / "networks" / "child.bif"
        parts, model = read_network_parts(path), readwrite.BIFReader(str(path)).get_model()
        assert {cpt.variable.name for cpt in parts.cpts} == set(model.nodes())
        for cpt in parts.cpts:
            theirs = model.get_cpds(cpt.variable.name)
            assert {p.name for p in cpt.parents} == set(theirs.variables[1:])
            array = theirs.values
            for i, variable in enumerate((*theirs.variables,)):
                ours = next(v for v in parts.variables if v.name == variable)
                codes = [theirs.state_names[variable].index(state) for state in ours.states]
                array = np.take(array, codes, axis=i)
            order = [theirs.variables.index(v.name) for v in (*cpt.parents, cpt.variable)]
            np.testing.assert_allclose(cpt.table(), array.transpose(order), rtol=0, atol=1e-12)

    @pytest.mark.peer
    @pytest.mark.parametrize("suffix", [".bif", ".net", ".uai", ".bifxml", ".xdsl", ".dsl"])
    @pytest.mark.parametrize("name", ["asia", "alarm", "win95pts"])
    def test_pyagrum_reads_what_is_written(self, shared_data, tmp_path, name, suffix):
        gum = pytest.importorskip("pyagrum")
        parts = read_network_parts(shared_data / "networks" / f"{name}.bif")
        path, dialect = tmp_path / f"n{suffix}", "agrum" if suffix in (".uai", ".xdsl") else None
        write_network_parts(path, parts, dialect=dialect)
        if suffix != ".uai":
            same_as_pyagrum(parts, path)
            return
        theirs = gum.LazyPropagation(gum.loadBN(str(path)))  # the names of variables are numbers
        ours = list(BayesianNetwork.from_tables(parts.cpts).posteriors().values())
        for i, answer in enumerate(ours):
            np.testing.assert_allclose(list(answer.values()), theirs.posterior(str(i)).tolist(), rtol=0, atol=1e-6)

    @pytest.mark.peer
    @pytest.mark.parametrize("suffix", [".bif", ".net", ".uai", ".bifxml", ".xdsl", ".dsl"])
    def test_as_pyagrum_writes_it(self, tmp_path, suffix):
        gum = pytest.importorskip("pyagrum")
        gum.initRandom(1)
        net, path = gum.randomBN(n=10, ratio_arc=1.8, domain_size=3), tmp_path / f"n{suffix}"
        gum.saveBN(net, str(path))
        dialect = "agrum" if suffix in (".uai", ".xdsl") else None
        ours = BayesianNetwork.from_tables(read_network_parts(path, dialect=dialect).cpts).posteriors()
        theirs = gum.LazyPropagation(gum.loadBN(str(path)))
        for name, answer in ours.items():
            other = theirs.posterior(name.removeprefix("x") if suffix == ".uai" else name).tolist()
            np.testing.assert_allclose(list(answer.values()), other, rtol=0, atol=1e-6)  # it writes six digits

    @pytest.mark.parametrize("name", NETWORKS)
    def test_every_format_keeps_every_bit(self, shared_data, tmp_path, name):
        parts = read_network_parts(shared_data / "networks" / f"{name}.bif")
        for suffix in (".bif", ".net.gz", ".xmlbif", ".dsc", ".xdsl", ".dsl", ".tb"):
            write_network_parts(tmp_path / f"n{suffix}", parts)
            assert read_network_parts(tmp_path / f"n{suffix}") == parts, suffix
        write_network_parts(tmp_path / "n.uai", parts)
        back = read_network_parts(tmp_path / "n.uai")
        assert all(np.array_equal(a.table(), b.table()) for a, b in zip(parts.cpts, back.cpts, strict=True))

    def test_a_file_that_we_wrote_is_written_the_same(self, shared_data):
        parts = read_network_parts(shared_data / "networks" / "child.bif")
        text = write_bif(parts)
        assert "{ <5, 5-12, 12+ }" in text
        assert "Asy/Patch " in text


class Toy:
    """A format with one variable a line, all uniform."""

    @staticmethod
    def read(text: str) -> NetworkParts:
        rows = [line.split() for line in text.splitlines()]
        variables = [Variable(name, states) for name, *states in rows]
        return NetworkParts("", [CPT(v, [], [1 / v.n_states] * v.n_states) for v in variables])

    @staticmethod
    def write(parts: NetworkParts) -> str:
        return "\n".join(" ".join([v.name, *v.states]) for v in parts.variables)


def test_a_format_is_one_class(tmp_path, monkeypatch):
    monkeypatch.setitem(registry._REGISTERED, "network_format", {})
    registry.network_format("toy", suffixes=(".toy",))(Toy)
    parts = NetworkParts("", [CPT(Variable("a", ["x", "y"]), [], [0.5, 0.5])])
    for name, format in [("n.toy", None), ("n.toy.gz", None), ("n.txt", "toy")]:
        write_network_parts(tmp_path / name, parts, format)
        assert read_network_parts(tmp_path / name, format) == parts
    assert network_suffixes()[".toy"] == "toy"
