from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb
from tunbridge.cli.files import write_batches
from tunbridge.cli.output import reporting
from tunbridge.data.discretisation import mdl_cuts
from tunbridge.learning import learn_structure


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def rows(run, asia, tmp_path) -> Path:
    """Return rows of the Asia network as a CSV file."""
    path = tmp_path / "rows.csv"
    run("network", "sample", asia, "-n", "500", "-o", path, "--seed", "1")
    return path


@pytest.fixture
def mixed(tmp_path) -> Path:
    """Return a table of numbers, states, missing cells, an identifier and a constant."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(120):
        age, ill = rng.integers(20, 80), rng.random() < 0.4
        pulse = "" if i % 10 == 0 else f"{rng.normal(90 if ill else 70, 5):.1f}"
        lines.append(f"p{i},{age},{pulse},{1 + i % 3},here,{'yes' if ill else 'no'}\n")
    return write(tmp_path / "mixed.csv", "id,age,pulse,ward,place,ill\n" + "".join(lines))


def csv_of(table: tb.Table, folder: Path) -> Path:
    """Return a table as a CSV file."""
    write_batches(folder / "t.csv", iter([table.to_arrow()]))
    return folder / "t.csv"


def commands(told: str) -> list[list[str]]:
    """Return the commands that are suggested."""
    return [shlex.split(line)[1:] for line in told.splitlines() if line.startswith("  tunbridge ")]


# What is learned


def test_the_network_is_the_one_that_python_learns(run, rows, tmp_path):
    told = run("network", "learn", rows, "-o", "n.tb").stdout
    table = tb.read_table(rows)
    dag = tb.learn_structure(table)
    assert tb.read_network(tmp_path / "n.tb") == tb.fit_parameters(dag, table)
    assert "rows.csv: 500 rows, 8 columns" in told
    assert f"hill-climbing, {len(dag.trace)} moves, " in told
    assert f"{dag.score:.8g} (bic)" in told
    assert f"{dag.n_arcs} arcs" in told
    assert all(f"{a} → {b}" in told for a, b in dag.arcs)
    assert "Network saved to n.tb. Next steps:" in told


@pytest.mark.parametrize(
    ("options", "search", "score"),
    [
        (["--search", "tabu", "--restarts", "2", "--score", "bdeu:10"], tb.Tabu(restarts=2), tb.BDeu(ess=10)),
        (["--search", "Hill_Climbing", "--restarts", "2", "--seed", "3"], tb.HillClimbing(restarts=2), "bic"),
        (["--search", "orders", "--score", "aic"], tb.OrderSearch(), "aic"),
        (["--search", "ges", "--score", "BIC:3"], tb.GES(), tb.BIC(k=3.0)),
        (["--search", "exact", "--score", "k2", "--max-parents", "2"], tb.Exact(), "k2"),
        (["--search", "sparse-candidate", "--candidates", "4"], tb.SparseCandidate(k=4), "bic"),
        (["--search", "chow-liu"], tb.ChowLiu(), "bic"),
        (["--search", "tan", "--target", "lung"], tb.TAN("lung"), "bic"),
        (["--search", "fan", "-t", "lung"], tb.FAN("lung"), "bic"),
        (["--search", "k-dependence", "-t", "lung", "--k", "2"], tb.KDependence("lung", k=2), "bic"),
        (["--score", "qnml"], "hill-climbing", "qnml"),
        (["--search", "tabu", "--target", "lung"], "tabu", "bic"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, list) else "",
)
def test_every_search_and_score(run, rows, tmp_path, options, search, score):
    run("network", "learn", rows, "-o", "n.tb", *options)
    limit = 2 if "--max-parents" in options else None
    seed = 3 if "--seed" in options else 0
    dag = tb.learn_structure(tb.read_table(rows), score, search, max_parents=limit, random_state=seed)
    assert tb.read_network(tmp_path / "n.tb").dag == dag


def test_what_is_known_about_the_arcs(run, rows, tmp_path):
    known = ["--require", "asia->xray", "--forbid", "smoke -> bronc", "--root", "smoke", "--leaf", "dysp"]
    run("network", "learn", rows, "-o", "n.tb", *known, "--tier", "asia,smoke", "--tier", "lung, either")
    dag = tb.read_network(tmp_path / "n.tb").dag
    constraints = tb.Constraints(
        required=["asia->xray"], forbidden=["smoke->bronc"], roots="smoke", leaves="dysp",
        tiers=[["asia", "smoke"], ["lung", "either"]],
    )  # fmt: skip
    assert dag == tb.learn_structure(tb.read_table(rows), constraints=constraints)
    assert ("asia", "xray") in dag.arcs


def test_tiers_from_a_file(run, rows, tmp_path):
    write(tmp_path / "tiers.txt", '\ufeff"asia",smoke\n\nlung, bronc\nxray\n')
    run("network", "learn", rows, "-o", "n.tb", "--tiers", "tiers.txt")
    constraints = tb.Constraints(tiers=[["asia", "smoke"], ["lung", "bronc"], ["xray"]])
    assert tb.read_network(tmp_path / "n.tb").dag == tb.learn_structure(tb.read_table(rows), constraints=constraints)


@pytest.mark.parametrize(("given", "prior"), [(["--smoothing", "0"], "mle"), (["--smoothing", "2.5"], 2.5)])
def test_pseudo_counts(run, rows, tmp_path, given, prior):
    run("network", "learn", rows, "-o", "n.tb", *given)
    table = tb.read_table(rows)
    assert tb.read_network(tmp_path / "n.tb") == tb.fit_parameters(tb.learn_structure(table), table, prior)


def test_weights_and_ignored_columns(run, tmp_path):
    write(tmp_path / "d.csv", "x,y,z,w\na,c,e,5\nb,d,f,5\na,c,f,5\nb,d,e,5\n")
    told = run("network", "learn", "d.csv", "--weights", "w", "--ignore", "z").stdout
    assert "Ignored" in told
    assert re.search(r"Weights +w", told)
    assert tb.read_network(tmp_path / "d.tb").nodes == ("x", "y")


# Files


@pytest.mark.parametrize("name", ["n.tb", "n.bif", "n.xmlbif", "n.net", "n.dsc", "n.uai", "n.bif.gz"])
def test_the_file_has_the_format_of_its_name_and_what_next_works(run, rows, tmp_path, name):
    told = run("network", "learn", rows, "--search", "tan", "-t", "lung", "-o", name).stdout
    assert tb.read_network(tmp_path / name).dag.n_arcs == 13
    assert ("Not kept" in told) == (name != "n.tb")
    steps = commands(told)
    assert len(steps) == (1 if name == "n.uai" else 3)
    for step in steps:
        run(*step)


def test_odd_names_and_states_survive_and_what_next_works(run, tmp_path):
    lines = ['"yes, sir","a=b"', '"no: never","-x"', '"may|be","a=b"']
    cells = "".join(f"{line},{i % 7}.5\n" for i, line in enumerate(lines * 20))
    write(tmp_path / "d.csv", '"a b","x=y","n$"\n' + cells)
    told = run("network", "learn", "d.csv", "--bins", "3", "-o", "d.bif").stdout
    for step in commands(told):
        run(*step)
    assert "n$: ≤ 2, 2 – 4, > 4" in told


def test_the_network_is_named_after_the_table(run, rows, tmp_path):
    run("network", "learn", rows)
    assert len(tb.read_network(tmp_path / "rows.tb").nodes) == 8


def test_a_table_is_not_replaced(run, rows):
    before = rows.read_text()
    assert "must not replace the input" in run("network", "learn", rows, "-o", rows, code=1).stderr
    write(Path("x.tb"), "some text")
    assert "must not overwrite a file that is not a model" in run("network", "learn", rows, "-o", "x.tb", code=1).stderr
    assert rows.read_text() == before


def test_the_trace_is_drawn(run, rows, tmp_path):
    pytest.importorskip("matplotlib")
    told = run("network", "learn", rows, "--search", "tabu", "--trace", "way.png", "-o", "n.bif")
    assert (tmp_path / "way.png").read_bytes().startswith(b"\x89PNG")
    assert "The picture is in way.png." in told.stderr


def test_without_a_move_there_is_no_picture(run, tmp_path):
    pytest.importorskip("matplotlib")
    write(tmp_path / "d.csv", "x,y\n" + "a,c\na,d\nb,c\nb,d\n" * 5)
    told = run("network", "learn", "d.csv", "--trace", "way.png")
    assert "no move" in told.stderr
    assert "0 arcs" in told.stdout
    assert not (tmp_path / "way.png").exists()
    query = commands(told.stdout)[1]
    assert "--given" not in query
    run(*query)


def test_a_checkpoint_is_kept(run, rows, tmp_path):
    run("network", "learn", rows, "--search", "sparse-candidate", "--checkpoint", "c.json")
    kept = json.loads((tmp_path / "c.json").read_text())
    assert {tuple(arc) for arc in kept["arcs"]} == set(tb.read_network(tmp_path / "rows.tb").dag.arcs)


# What is told


def test_what_became_of_the_columns_is_told(run, mixed, tmp_path):
    told = run("network", "learn", mixed, "--cuts", "frequency", "--bins", "4", "-o", "m.tb").stdout
    net = tb.read_network(tmp_path / "m.tb")
    assert set(net.nodes) == {"age", "pulse", "ward", "ill"}
    assert "id looks like an identifier" in told
    assert "place has only one value" in told
    assert "(--categorical NAME keeps such a column)" in told
    assert "pulse: 12 (empty 12)" in told
    assert "every row counts: missing values are inferred along with the network" in told
    assert "ward: 1, 2, 3" in told
    averaged = run(
        "network", "learn", mixed, "--cuts", "frequency", "--bins", "4", "-o", "m.tb", "--no-structural-em"
    ).stdout
    assert "on the rows where they are complete" in averaged
    assert "(nal, because values are missing)" in averaged
    assert net.variable("ward").states == (1, 2, 3)
    assert [net.variable(name).n_states for name in ("age", "pulse")] == [4, 4]


@pytest.mark.parametrize(
    ("options", "n_states"),
    [(["--numeric", "discretise"], 5), (["--bins", "3"], 3), (["--cuts", "width", "--bins", "6"], 6)],
)
def test_ways_to_cut(run, mixed, tmp_path, options, n_states):
    run("network", "learn", mixed, *options, "-o", "m.tb")
    assert tb.read_network(tmp_path / "m.tb").variable("pulse").n_states == n_states


def test_cuts_that_tell_classes_apart(run, mixed, tmp_path):
    told = run("network", "learn", mixed, "--cuts", "mdl", "-t", "ill", "--search", "tan", "-o", "m.tb").stdout
    expected = mdl_cuts(tb.read_table(mixed).floats("pulse"), tb.read_table(mixed).codes("ill"))
    net = tb.read_network(tmp_path / "m.tb")
    assert net.variable("pulse").states == expected.labels
    assert "age has no cut that separates the classes" in told
    assert net.variable("pulse").cuts == expected.cuts
    assert "predict" in str(commands(told))


def test_categorical_keeps_columns_and_makes_states_of_numbers(run, mixed, tmp_path):
    run("network", "learn", mixed, "--bins", "2", "--categorical", "place", "--categorical", "age", "-o", "m.tb")
    net = tb.read_network(tmp_path / "m.tb")
    assert "place" in net.nodes
    assert net.variable("age").n_states > 30
    assert "--ignore age leaves it out" in run("network", "learn", mixed, "--bins", "2", "--categorical", "age").stdout


def test_a_target_of_whole_numbers_is_a_class(run, mixed, tmp_path):
    run("network", "learn", mixed, "--bins", "3", "-t", "ward", "--search", "tan", "-o", "m.tb")
    net = tb.read_network(tmp_path / "m.tb")
    assert net.variable("ward").states == (1, 2, 3)
    assert net.dag.parents("ward") == ()


def test_directions_that_data_cannot_tell(run, tmp_path):
    rng = np.random.default_rng(1)
    x = rng.integers(2, size=400)
    y = np.where(rng.random(400) < 0.9, x, 1 - x)
    write(tmp_path / "d.csv", "x,y\n" + "".join(f"a{i},b{j}\n" for i, j in zip(x, y, strict=True)))
    assert "the data do not determine any direction" in run("network", "learn", "d.csv").stdout
    asia = csv_of(tb.example_network("asia").sample(3000, random_state=1), tmp_path)
    assert re.search("the data do not determine the directions? of .* – ", run("network", "learn", asia).stdout)


def test_many_arcs_are_listed_in_part(run, tmp_path):
    table = tb.example_network("asia").sample(3000, random_state=1)
    told = run("network", "learn", csv_of(table, tmp_path), "--score", "loglik").stdout
    n_arcs = int(re.search(r"^Found +(\d+) arcs$", told, re.MULTILINE)[1])
    assert n_arcs > 20
    assert n_arcs == tb.learn_structure(table, "loglik").n_arcs
    assert f"… and {n_arcs - 20} more" in told


# The bootstrap


def test_the_consensus_of_resampled_tables(run, rows, tmp_path):
    told = run("network", "learn", rows, "--bootstrap", "10", "-o", "n.tb").stdout
    found = tb.bootstrap_structure(tb.read_table(rows), 10, random_state=0)
    dag = found.consensus()
    assert set(tb.read_network(tmp_path / "n.tb").dag.arcs) == set(dag.arcs)
    assert "10 graphs by hill-climbing with bic" in told
    lines = re.findall(r"^(\w+) +(\w+) +(\d\.\d+) +(\d\.\d+) *(yes|reversed)?$", told, re.MULTILINE)
    assert len([line for line in lines if line[4]]) == dag.n_arcs
    for start, end, strength, direction, _ in lines:
        assert float(strength) == pytest.approx(found.strength(start, end), abs=5e-4)
        assert float(direction) == pytest.approx(found.direction(start, end), abs=5e-4)


def test_a_threshold(run, rows, tmp_path):
    run("network", "learn", rows, "--bootstrap", "10", "--threshold", "1", "-o", "n.tb")
    found = tb.bootstrap_structure(tb.read_table(rows), 10, random_state=0)
    assert set(tb.read_network(tmp_path / "n.tb").dag.arcs) == set(found.consensus(1.0).arcs)


def test_a_bootstrap_that_finds_nothing(run, tmp_path):
    write(tmp_path / "d.csv", "x,y\n" + "a,c\na,d\nb,c\nb,d\n" * 50)
    told = run("network", "learn", "d.csv", "--bootstrap", "2", "--threshold", "1").stdout
    assert re.search(r"^Found +0 arcs$", told, re.MULTILINE)
    assert tb.read_network(tmp_path / "d.tb").dag.n_arcs == 0


# Interrupted


def test_ctrl_c_keeps_the_best_so_far(run, rows, tmp_path, monkeypatch):
    def impatient(*args, **kwargs):
        def stop(what, score):
            raise KeyboardInterrupt

        return learn_structure(*args, **{**kwargs, "progress": stop})

    monkeypatch.setattr("tunbridge.learn_structure", impatient)
    told = run("network", "learn", rows, "--search", "tabu", "-o", "n.bif", code=130)
    assert told.stderr == "tunbridge: interrupted: the best graph so far is in n.bif.\n"
    assert "interrupted" in told.stdout
    assert tb.read_network(tmp_path / "n.bif").dag.n_arcs > 0


def test_ctrl_c_before_there_is_anything(run, rows, tmp_path, monkeypatch):
    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("tunbridge.learn_structure", stop)
    assert run("network", "learn", rows, "-o", "n.bif", code=130).stderr == "tunbridge: interrupted.\n"
    assert not (tmp_path / "n.bif").exists()


def test_the_line_of_a_search_is_for_terminals(capsys, monkeypatch):
    with reporting("learning") as report:
        assert report is False
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with reporting("learning") as report:
        report("12 moves", -1234.5)
        report("all pairs, 10%", float("nan"))
    told = capsys.readouterr().err
    assert "all pairs, 10%" in told
    assert "nan" not in told
    assert "Ctrl-C keeps the best so far" in told


def test_only_a_search_of_short_steps_promises_to_keep_its_best(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("tunbridge.cli.output.PATIENCE", 0.0)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    with reporting("learning") as report:
        report("12 moves", -1234.5)
        report("13 moves", -1230.5)
    assert "Ctrl-C" not in capsys.readouterr().err


# Mistakes

TABLE = "x,y,z\n" + "a,c,e\nb,d,f\na,c,f\nb,d,e\n" * 4
NUMBERS = "x,y,z\n" + "".join(f"{i}.5,{i % 2},{i % 3}\n" for i in range(30))
BAD = {
    "unknown search": (TABLE, ["--search", "tabuu"], 2, "got 'tabuu'. Did you mean 'tabu'?"),
    "unknown score": (TABLE, ["--score", "bdue"], 2, "got 'bdue'. Did you mean 'bdeu'?"),
    "score with text": (TABLE, ["--score", "bdeu:x"], 2, "a number must follow the colon; got 'x'"),
    "score with a bad number": (TABLE, ["--score", "bdeu:0"], 2, "in --score bdeu:0, ess must be"),
    "score without a number": (TABLE, ["--score", "k2:1"], 2, "--score k2 must come without a number"),
    "arc cut off by the shell": (TABLE, ["--forbid", "x-"], 2, "--forbid must be an arc such as 'A->B'; got 'x-'."),
    "arc without an arrow": (TABLE, ["--require", "x,y"], 2, "--require must be an arc"),
    "arc of no column": (TABLE, ["--require", "x->Y2"], 1, "--require must name columns of the table; got 'Y2'"),
    "forbidden arc of no column": (TABLE, ["--forbid", "w->x"], 1, "--forbid must name columns"),
    "cycle": (TABLE, ["--require", "x->y", "--require", "y->x"], 1, "required arcs must form no cycle"),
    "too many parents": (
        TABLE, ["--require", "x->z", "--require", "y->z", "--max-parents", "1"], 1, "must keep to --max-parents",
    ),
    "tier of no column": (TABLE, ["--tier", "x", "--tier", "q"], 1, "--tier must name columns of the table; got 'q'"),
    "empty name in a tier": (TABLE, ["--tier", "x,,y"], 2, "--tier must be names separated by commas"),
    "tiers twice": (TABLE, ["--tier", "x", "--tiers", "d.csv"], 2, "got both"),
    "no such file of tiers": (TABLE, ["--tiers", "d.cvs"], 1, "Did you mean 'd.csv'?"),
    "root of no column": (TABLE, ["--root", "q"], 1, "--root must name columns"),
    "leaf of no column": (TABLE, ["--leaf", "q"], 1, "--leaf must name columns"),
    "tan without a class": (TABLE, ["--search", "tan"], 2, "--search tan must come with --target"),
    "tan with constraints": (
        TABLE, ["--search", "tan", "-t", "x", "--forbid", "y->z"], 1, "use --search chow-liu or hill-climbing",
    ),
    "tan of a quantity": (NUMBERS, ["--search", "tan", "-t", "x", "--bins", "2"], 1, "the target must have classes"),
    "target that is not there": (TABLE, ["--search", "tan", "-t", "X1"], 1, "--target must name a column of d.csv"),
    "k without k-dependence": (TABLE, ["--k", "2"], 2, "--k must come with --search k-dependence"),
    "restarts of ges": (TABLE, ["--search", "ges", "--restarts", "1"], 2, "--restarts must come with --search hill"),
    "candidates of tabu": (TABLE, ["--search", "tabu", "--candidates", "2"], 2, "--candidates must come with"),
    "checkpoint of tabu": (TABLE, ["--search", "tabu", "--checkpoint", "c"], 2, "--checkpoint must come with"),
    "score of a tree": (TABLE, ["--search", "chow-liu", "--score", "aic"], 2, "--score must come with a search by"),
    "ges with another score": (TABLE, ["--search", "ges", "--score", "k2"], 1, "the same for equivalent graphs"),
    "trace of exact": (TABLE, ["--search", "exact", "--trace", "t.png"], 2, "exact makes none"),
    "trace of a bootstrap": (TABLE, ["--bootstrap", "5", "--trace", "t.png"], 2, "with a single search"),
    "trace into a table": (TABLE, ["--trace", "t.csv"], 1, "must end in '.png', '.svg', '.pdf'"),
    "threshold alone": (TABLE, ["--threshold", "0.5"], 2, "--threshold must come with --bootstrap"),
    "numbers": (NUMBERS, [], 1, "'x', 'z' hold numbers. --cuts frequency discretizes them"),
    "mdl without classes": (NUMBERS, ["--cuts", "mdl"], 2, "--cuts mdl must come with --target"),
    "mdl with bins": (
        NUMBERS, ["--cuts", "mdl", "--bins", "3", "-t", "y", "--search", "tan"], 2, "--bins must come with",
    ),
    "a density": (NUMBERS, ["--numeric", "kernel"], 2, "'kernel' is not one of 'discretise'"),
    "prior of classes": (TABLE, ["--prior", "uniform"], 2, "no option --prior; it belongs"),
    "missing cells and bdeu": (
        "x,y\na,c\nb,\na,c\nb,d\n", ["--score", "bdeu", "--no-structural-em"], 1, "Use --score ",
    ),
    "one column": ("x\na\nb\na\n", [], 1, "two columns at least; got 1."),
    "nothing left": (
        "x,y\n" + "".join(f"n{i},a\n" for i in range(20)), [], 1, "Left out: y has only one value, x looks like an",
    ),
    "constraint on what was left out": (
        "x,y,z\n" + "".join(f"n{i},{'ab'[i % 2]},{'cd'[i % 3 > 0]}\n" for i in range(20)), ["--forbid", "x->y"], 1,
        "x was left out: it looks like an identifier.",
    ),
    "no such folder": (TABLE, ["-o", "no/such.bif"], 1, "a folder that exists"),
    "name of a table": (TABLE, ["-o", "n.csv"], 2, "the name of the network must end in '.bif'"),
    "packed native file": (TABLE, ["-o", "n.tb.gz"], 2, "the name of the network must end in"),
    "ignored column that is not there": (TABLE, ["--ignore", "q"], 1, "--ignore must name a column"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_sentence(run, tmp_path, case):
    text, options, code, message = BAD[case]
    write(tmp_path / "d.csv", text)
    assert message in run("network", "learn", "d.csv", *options, code=code).stderr
    assert [path.name for path in tmp_path.iterdir()] == ["d.csv"]


def test_options_are_checked_before_the_table_is_read(run):
    assert "--search" in run("network", "learn", "no.csv", "--search", "x", code=2).stderr
    assert "--score" in run("network", "learn", "no.csv", "--score", "x", code=2).stderr
    assert "folder" in run("network", "learn", "no.csv", "-o", "no/n.bif", code=1).stderr
