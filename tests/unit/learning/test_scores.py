"""Scores of discrete families, and the regret behind two of them."""

from __future__ import annotations

import re
from decimal import Decimal, localcontext
from math import comb, log, prod
from pathlib import Path

import numpy as np
import pytest

import tunbridge as tb
from oracles import scores as oracle
from tunbridge.errors import DataError
from tunbridge.learning.scores.complexity import log_regret, log_regret_of_states, log_regret_table
from tunbridge.learning.scores.discrete import (
    AIC,
    BIC,
    FNML,
    K2,
    QNML,
    BDeu,
    BDs,
    LogLikelihood,
    NodeAverage,
    Score,
    as_score,
    score_names,
)

ALL = [LogLikelihood(), AIC(), BIC(), NodeAverage(), BDeu(), BDeu(ess=20), BDs(), K2(), FNML(), QNML()]
TABLE = np.array([[3, 1, 0], [0, 2, 2], [0, 0, 0], [1, 0, 0]])
ROWS = [(j, k) for j, row in enumerate(TABLE) for k, n in enumerate(row) for _ in range(n)]

each_score = pytest.mark.parametrize("score", ALL, ids=repr)


class TestRegret:
    @pytest.mark.parametrize("n", range(1, 8))
    @pytest.mark.parametrize("r", range(1, 5))
    def test_sums_over_all_counts(self, n, r):
        assert float(log_regret(n, r)) == pytest.approx(oracle.regret(n, r), rel=1e-13, abs=1e-13)
        assert float(log_regret_of_states(n, r)) == pytest.approx(oracle.regret(n, r), rel=1e-13, abs=1e-13)

    @pytest.mark.parametrize(("n", "r"), [(1, 3), (4, 3), (6, 2), (3, 5)])
    def test_sums_over_all_data_sets(self, n, r):
        assert float(log_regret(n, r)) == pytest.approx(oracle.regret_by_data_sets(n, r), rel=1e-12)

    @pytest.mark.parametrize("n", [1, 5, 62, 63, 64, 65, 200, 2000])
    def test_two_states_on_both_sides_of_the_series(self, n):
        exact = log(sum(_term(n, h) for h in range(n + 1)))
        assert float(log_regret(n, 2)) == pytest.approx(exact, rel=1e-14)

    @pytest.mark.parametrize("n", [1, 3, 50, 1000, 1001, 3000])
    @pytest.mark.parametrize("r", [2, 17, 999, 1000, 1001, 30_000, 10**12])
    def test_every_number_of_states(self, n, r):
        near = 4e-8 if r > 1000 and n > 1000 else 1e-11  # the saddle point is not exact
        assert float(log_regret_of_states(n, r)) == pytest.approx(exact_regret(n, r), rel=1e-14, abs=near)

    def test_both_directions_agree(self):
        n, r = np.arange(40.0), np.arange(1.0, 30.0)
        along = np.array([log_regret(n, int(k)) for k in r])
        across = np.array([log_regret_of_states(k, r) for k in n]).T
        np.testing.assert_allclose(along, across, rtol=1e-13, atol=1e-13)

    def test_no_rows_or_one_state_cost_nothing(self):
        assert log_regret(np.zeros(3), 5).tolist() == [0, 0, 0]
        assert log_regret(np.arange(5.0), 1).tolist() == [0] * 5
        assert log_regret_of_states(0, np.array([1.0, 5.0, 1e9])).tolist() == [0, 0, 0]
        assert log_regret_of_states(1e6, 1.0) == 0

    def test_between_whole_rows(self):
        low, half, high = log_regret(np.array([3.0, 3.5, 4.0]), 4)
        assert low < half < high
        assert half == pytest.approx((low + high) / 2, rel=1e-14)
        assert float(log_regret_of_states(3.5, 4)) == pytest.approx(half, rel=1e-14)
        assert 0 < float(log_regret(0.25, 3)) == pytest.approx(0.25 * log(3), rel=1e-14)

    def test_rises_with_rows_and_states(self):
        assert (np.diff(log_regret(np.arange(300.0), 4)) > 0).all()
        states = np.concatenate([np.arange(1.0, 1100.0), np.logspace(3.2, 15, 50)])
        for n in (1, 900, 1100, 10**6):
            assert (np.diff(log_regret_of_states(n, states)) > 0).all()

    def test_table_is_shared_and_locked(self):
        table = log_regret_table(100, 3)
        np.testing.assert_array_equal(table, log_regret(np.arange(101.0), 3))
        assert log_regret_table(100, 3) is table
        with pytest.raises(ValueError, match="read-only"):
            table[0] = 1


def _term(n: int, h: int) -> float:
    """Return a term of C(n, 2); its parts would overflow as floats."""
    with localcontext() as context:
        context.prec = 60
        a, b = Decimal(h) / n, Decimal(n - h) / n
        return float(Decimal(comb(n, h)) * (a**h if h else 1) * (b ** (n - h) if h < n else 1))


def exact_regret(n: int, r: int) -> float:
    """Return the regret by its sum of n + 1 terms, with 40 digits."""
    with localcontext() as context:
        context.prec = 40
        term = total = Decimal(1)
        for k in range(n):
            term *= Decimal(n - k) * (r - 1 + k) / (n * (k + 1))
            total += term
        return float(total.ln())


class TestFamily:
    def test_likelihoods(self):
        value, n = oracle.log_likelihood(ROWS), len(ROWS)
        assert LogLikelihood().family(TABLE, 4, n) == pytest.approx(value, rel=1e-13)
        assert AIC().family(TABLE, 4, n) == pytest.approx(value - 8, rel=1e-13)
        assert AIC(k=2.5).family(TABLE, 4, n) == pytest.approx(value - 20, rel=1e-13)
        assert BIC().family(TABLE, 4, n) == pytest.approx(value - 4 * log(9), rel=1e-13)
        assert BIC(k=0.5).family(TABLE, 4, n) == pytest.approx(value - 4, rel=1e-13)

    @pytest.mark.parametrize("ess", [1e-10, 0.1, 1.0, 20.0])
    def test_marginal_likelihoods(self, ess):
        assert BDeu(ess).family(TABLE, 4, 9) == pytest.approx(oracle.bdeu(ROWS, 4, 3, ess), rel=1e-12)
        assert BDs(ess).family(TABLE, 4, 9) == pytest.approx(oracle.bds(ROWS, 3, ess), rel=1e-12)

    def test_k2(self):
        assert K2().family(TABLE, 4, 9) == pytest.approx(oracle.k2(ROWS, 3), rel=1e-13)

    def test_normalised_maximum_likelihoods(self):
        assert FNML().family(TABLE, 4, 9) == pytest.approx(oracle.fnml(ROWS, 3), rel=1e-13)
        few, rows = np.array([[2, 1], [0, 3]]), [(0, 0)] * 2 + [(0, 1)] + [(1, 1)] * 3
        assert QNML().family(few, 2, 6) == pytest.approx(oracle.qnml(rows, 2, 2), rel=1e-12)

    def test_node_average(self):
        value = 120 / 90 * oracle.log_likelihood(ROWS * 10)
        expected = value - 8 * 120**0.75 / 5
        assert NodeAverage(n_variables=5).family(TABLE * 10, 4, 120) == pytest.approx(expected, rel=1e-13)
        assert NodeAverage(alpha=0.4, n_variables=1).family(TABLE * 10, 4, 120) == pytest.approx(
            value - 8 * 120**0.6, rel=1e-13
        )

    def test_a_handful_of_rows_does_not_stand_for_all(self):
        assert NodeAverage().family(TABLE, 4, 9) > -np.inf
        assert NodeAverage().family(TABLE, 4, 12) == -np.inf

    def test_node_average_takes_the_number_of_variables(self):
        assert NodeAverage().for_variables(7) == NodeAverage(n_variables=7)
        assert NodeAverage(n_variables=2).for_variables(7) == NodeAverage(n_variables=2)
        assert BIC().for_variables(7) == BIC()

    @each_score
    def test_empty_configurations_may_be_left_out(self, score):
        occurring = TABLE[TABLE.any(axis=1)]
        assert score.family(occurring, 4, 9) == pytest.approx(score.family(TABLE, 4, 9), rel=1e-14)

    @each_score
    def test_missing_rows_scale_the_likelihood_only(self, score):
        if not score.is_average:
            pytest.skip("defined for complete rows")
        complete, more = score.family(TABLE * 10, 4, 90), score.family(TABLE * 10, 4, 180)
        assert more + score.penalty(4, 3, 180) == pytest.approx(2 * (complete + score.penalty(4, 3, 90)), rel=1e-13)

    @each_score
    def test_a_constant_says_nothing(self, score):
        assert score.family(np.array([[3], [0], [5]]), 3, 8) == pytest.approx(0, abs=1e-12)

    @each_score
    def test_no_rows(self, score):
        value = score.family(np.zeros((2, 3)), 2, 0)
        assert value == (-np.inf if score.is_average else 0)

    @each_score
    def test_one_row(self, score):
        assert np.isfinite(score.family(np.array([[0, 1]]), 1, 1))

    @each_score
    def test_weights(self, score):
        one, two = TABLE * 1.0, TABLE * 1.5
        assert score.family(one, 4, 9) == pytest.approx(score.family(TABLE, 4, 9), rel=1e-14)
        assert np.isfinite(score.family(two, 4, 13.5))
        assert np.isfinite(score.family(TABLE * 1e-6, 4, 9e-6))

    @each_score
    def test_huge_dimensions(self, score):
        for q in (1e12, 2.0**900, 10**400):
            assert np.isfinite(score.family(TABLE, q, 9))

    @each_score
    def test_huge_counts(self, score):
        value = score.family(TABLE * 10**9, 4, 9 * 10**9)
        exact = 1e9 * oracle.log_likelihood(ROWS)
        if score.name != "nal":  # its price of a parameter grows with the rows
            assert value == pytest.approx(exact, rel=1e-6)

    @pytest.mark.parametrize("score", [BDeu(ess=1e-10), BDs(ess=1e-10)], ids=repr)
    def test_tiny_prior(self, score):
        rows = [(0, 0)] * 5 + [(0, 1)]
        assert score.family(np.array([[5, 1]]), 1, 6) == pytest.approx(oracle.bdeu(rows, 1, 2, 1e-10), rel=1e-12)


class TestBounds:
    @each_score
    def test_no_family_exceeds_the_ceiling(self, score):
        rng = np.random.default_rng(0)
        for r in (1, 2, 5):
            for _ in range(30):
                table = rng.poisson(rng.choice([0.3, 2, 20]), (4, r)) * (rng.random((4, r)) < 0.5)
                n = max(int(table.sum()), 1)
                assert score.family(table, 4, n) <= score.ceiling(4, r, n) + 1e-9

    @each_score
    def test_deterministic_families_reach_it_if_likelihoods(self, score):
        if score.is_average:
            table = np.array([[7, 0], [0, 5]])
            assert score.family(table, 2, 12) == pytest.approx(score.ceiling(2, 2, 12), rel=1e-12, abs=1e-12)

    @each_score
    def test_penalties_of_several_sizes(self, score):
        q = np.array([1.0, 2.0, 6.0, 5000.0, 1e12])
        for n_rows in (0, 1, 50, 2000):
            several = score.penalty(q, 3, n_rows)
            assert several.shape == q.shape
            one_by_one = [float(score.penalty(k, 3, n_rows)) for k in q]
            np.testing.assert_allclose(several, one_by_one, rtol=1e-15, atol=0)
            np.testing.assert_allclose(score.ceiling(q, 3, n_rows), -several, rtol=0, atol=0)
            assert (np.diff(several) >= -1e-13).all()

    @each_score
    def test_tables_of_terms(self, score):
        if score.is_dirichlet:
            pytest.skip("terms depend on the number of configurations")
        n = np.arange(201)
        for r in (1, 2, 7):
            np.testing.assert_allclose(score.cell_table(200, r), score.cell(n, 3.0, r), rtol=1e-14, atol=1e-14)
            np.testing.assert_allclose(score.row_table(200, r), score.row(n, 3.0, r), rtol=1e-14, atol=1e-14)
            assert score.cell_table(200, r)[0] == score.row_table(200, r)[0] == 0


class TestNames:
    @pytest.mark.parametrize("name", score_names())
    def test_by_name(self, name):
        score = as_score(name)
        assert isinstance(score, Score)
        assert score.name == {"mdl": "bic", "pnal": "nal"}.get(name, name)

    def test_however_they_are_written(self):
        assert as_score("Log-Lik") == as_score("LOG_LIK") == LogLikelihood()
        assert as_score("BDeu") == BDeu(ess=1.0)
        assert as_score("q NML") == QNML()

    def test_objects_are_themselves(self):
        score = BDeu(ess=3)
        assert as_score(score) is score

    def test_a_class_is_no_score(self):
        with pytest.raises(DataError, match=re.escape("score must be an object; got the class BIC. Write tb.BIC().")):
            as_score(BIC)

    def test_near_miss(self):
        with pytest.raises(DataError, match=re.escape("got 'bicc'. Did you mean 'bic'?")):
            as_score("bicc")

    @pytest.mark.parametrize("bad", ["zebra", "", 3, None])
    def test_unknown(self, bad):
        with pytest.raises(
            DataError, match=r"score must be a name or a score object such as tb.BDeu\(10\); got .*Known: 'bic', "
        ):
            as_score(bad)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: BDeu(ess=0), "ess must be at least 1e-100; got 0"),
            (lambda: BDs(ess=-1.0), "ess must be at least 1e-100"),
            (lambda: BDeu(ess=float("inf")), "ess must be at most 100000000.0; got inf"),
            (lambda: BDeu(ess="1"), "ess must be a number; got '1'"),
            (lambda: AIC(k=-1), "k must be at least 0"),
            (lambda: BIC(k=-1), "k must be at least 0"),
            (lambda: NodeAverage(alpha=0), "alpha must be greater than 0"),
            (lambda: NodeAverage(alpha=2), "alpha must be at most 1"),
            (lambda: NodeAverage(n_variables=0), "n_variables must be at least 1"),
        ],
    )
    def test_bad_options(self, make, message):
        with pytest.raises(DataError, match=re.escape(message)):
            make()


# Values of bnlearn 5.2.1 under R 4.6.1, by node: from tests/parity/fixtures/hc.json of the public repository
# tomtomtom1007/pybnlearn, where R made them. (Older help pages of bnlearn, man/score.Rd, give −23873.13 for the AIC of
# the first graph, their sum, and −23957.68 for the K2 of the second.) In these numbers log C(5000, 3) is 8.53489398;
# but it is 8.53489377, by C(n, 3) = C(n, 2) + n: bnlearn approximates the regret, so fnml and qnml may differ more.
LEARNING = "[A][C][F][B|A][D|A:C][E|B:F]"
LEARNING_TURNED = "[B][C][F][A|B][E|B:F][D|A:C]"
ASIA = "[A][S][T][L|S][B|S][E|T:L][X|E][D|B:E]"
CORONARY = (
    "[Smoking][P. Work|Smoking][Pressure|Smoking][M. Work|Smoking:P. Work:Pressure]"
    "[Proteins|Smoking:M. Work][Family|M. Work]"
)
BNLEARN = {
    "bic": (
        "learning.test", BIC(), LEARNING,
        "A -5501.5682327878039 B -3686.9220213269423 C -3501.1990963636972 D -3544.5606521306663 "
        "E -4302.5221305635941 F -3469.9620993254503",
    ),
    "aic": (
        "learning.test", AIC(), LEARNING,
        "A -5495.0510395963875 B -3667.3704417526938 C -3494.6819031722812 D -3485.9059134079203 "
        "E -4263.4189714150971 F -3466.703502729742",
    ),
    "aic, k = 3": (
        "learning.test", AIC(k=3), LEARNING,
        "A -5499.0510395963875 D -3521.9059134079203",
    ),
    "k2": (
        "learning.test", K2(), LEARNING_TURNED,
        "A -4342.5973944772541 B -4840.1743947451396 C -3501.0895669018719 D -3516.5769337820284 "
        "E -4287.5010841367512 F -3469.7364644319896",
    ),
    "bde, iss = 1": (
        "learning.test", BDeu(ess=1), LEARNING,
        "A -5502.1373771506405 B -3688.9395212202162 C -3501.5105385969291 D -3555.0144442365445 "
        "E -4310.3049564706507 F -3470.1879406785229",
    ),
    "bde, iss = 20": (
        "learning.test", BDeu(ess=20), LEARNING,
        "A -5498.6097038326006 B -3685.5256950593939 C -3507.716784548109 D -3517.6621808752807 "
        "E -4287.1990728974833 F -3468.4787968608216",
    ),
    "bds, iss = 1": (
        "asia", BDs(ess=1), ASIA,
        "A -247.04849911624478 E -5.3274800324479754 D -2148.0591207597063",
    ),
    "fnml": (
        "learning.test", FNML(), LEARNING_TURNED,
        "A -4343.9873853182826 B -4840.8192803334505 C -3501.216797155907 D -3520.8519008781227 "
        "E -4291.0419245746398 F -3470.1954015783299",
    ),
    "qnml": (
        "learning.test", QNML(), LEARNING,
        "A -5501.5859335800133 B -3682.3665792799325 C -3501.216797155907 D -3520.0422360992893 "
        "E -4288.7362145289662 F -3470.1954015783299",
    ),
    "bic of asia": (
        "asia", BIC(), ASIA,
        "A -246.82169066231026 S -3469.9044988554269 T -256.31658272028403 L -1099.3967936811835 "
        "B -3021.9642325011396 E -17.034386382832476 X -848.06344285626585 D -2147.7916817340324",
    ),
    "qnml of asia": (
        "asia", QNML(), ASIA,
        "A -247.05499291519018 S -3470.1378011083066 T -256.54988497316396 L -1098.7261896707889 "
        "B -3021.2936284907405 E -13.922481113969965 X -847.39283884585961 D -2144.6797764651719",
    ),
    "bic of coronary": (
        "coronary", BIC(), CORONARY,
        "Smoking -1278.06050414468 M._Work -940.55908013890678 P._Work -1269.8156124299189 "
        "Pressure -1258.6559258608647 Proteins -1222.8354117243293 Family -751.08429934534945",
    ),
    "bde of alarm, iss = 1": (
        "alarm", BDeu(ess=1), "[HREK|HR:ERCA][VTUB|PRSS:INT:KINK:VLNG][BP|TPR:CO][HYP|LVF:LVV:STKV]",
        "HREK -3130.7748578872688 VTUB -5619.2846115014872 BP -10759.726615602329 HYP -3541.3824698695225",
    ),
    "k2 of alarm": (
        "alarm", K2(), "[HIST|LVF:APL][MINV|INT:KINK:VTUB][ERCA|HRSA:HR]",
        "HIST -1485.6952297883061 MINV -8926.5410323767828 ERCA -1776.294724951638",
    ),
}  # fmt: skip


def parents_of(model: str) -> dict[str, list[str]]:
    """Return the parents of each node of a graph in bnlearn's notation."""
    parts = [part.partition("|") for part in re.findall(r"\[([^]]+)\]", model)]
    return {node: parents.split(":") if parents else [] for node, _, parents in parts}


def data_path(shared_data: Path, name: str) -> Path:
    plain = shared_data / "bnlearn" / f"{name}.csv"
    return plain if plain.is_file() else plain.with_suffix(".csv.gz")


@pytest.mark.shared
@pytest.mark.parametrize("case", BNLEARN)
def test_bnlearn(shared_data, case):
    name, score, model, values = BNLEARN[case]
    counter = tb.Counter(tb.read_table(data_path(shared_data, name)))
    near = 1e-4 if score.name in ("fnml", "qnml") else 1e-9
    for node, value in zip(values.split()[::2], map(float, values.split()[1::2]), strict=True):
        counts = counter.family(node.replace("_", " "), parents_of(model)[node.replace("_", " ")])
        q = prod(p.n_states for p in counts.parents)
        assert score.family(counts.table, q, counter.total) == pytest.approx(value, rel=0, abs=near), node


@pytest.mark.peer
@pytest.mark.filterwarnings("ignore")
def test_pgmpy():
    peer = pytest.importorskip("pgmpy.estimators")
    rng = np.random.default_rng(1)
    a, b, c = rng.integers(0, 2, 80), rng.integers(0, 3, 80), rng.choice(list("xyzw"), 80, p=[0.6, 0.2, 0.1, 0.1])
    table = tb.as_table({"A": a, "B": b, "C": c}, kinds={"A": "categorical", "B": "categorical"})
    frame = table.to_pandas().astype("category")
    counts = tb.Counter(frame).family("C", ["A", "B"])
    pairs = [
        (BDeu(ess=5), peer.BDeu(frame, equivalent_sample_size=5)),
        (BDs(ess=5), peer.BDs(frame, equivalent_sample_size=5)),
        (K2(), peer.K2(frame)),
        (BIC(), peer.BIC(frame)),
        (AIC(), peer.AIC(frame)),
    ]
    for ours, theirs in pairs:
        assert ours.family(counts.table, 6, 80) == pytest.approx(theirs.local_score("C", ["A", "B"]), rel=1e-9), ours
