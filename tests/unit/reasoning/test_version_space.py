"""Version spaces: the worked example, empty spaces, large ones, and the space of all conjunctions."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone

import tunbridge as tb
from tunbridge.errors import DataError, EmptyVersionSpaceError, ImpossibleEvidenceError
from tunbridge.reasoning import Conjunction, concept_space

SPORT = tb.datasets.enjoy_sport()
ROWS = SPORT.drop(["enjoy"])
LABELS = ["yes", "yes", "no", "yes"]
CASES = {  # Mitchell 1997, table 2.6
    "sky": ["Sunny", "Rainy", "Sunny", "Sunny"],
    "air_temp": ["Warm", "Cold", "Warm", "Cold"],
    "humidity": ["Normal", "Normal", "Normal", "Normal"],
    "wind": ["Strong", "Weak", "Weak", "Strong"],
    "water": ["Cool", "Warm", "Warm", "Warm"],
    "forecast": ["Change", "Same", "Same", "Same"],
}


@pytest.fixture(scope="module")
def sport() -> tb.VersionSpace:
    return tb.VersionSpace().fit(SPORT, "enjoy")


class TestEnjoySport:
    def test_boundaries(self, sport):
        assert [str(h) for h in sport.specific_] == ["⟨Sunny, Warm, ?, Strong, ?, ?⟩"]
        assert [str(h) for h in sport.general_] == ["⟨Sunny, ?, ?, ?, ?, ?⟩", "⟨?, Warm, ?, ?, ?, ?⟩"]
        assert (sport.size_, sport.prior_size_, sport.evidence_) == (6, 973, Fraction(6, 973))

    def test_members_have_equal_posteriors(self, sport):
        assert [str(h) for h in sport.hypotheses()] == [
            "⟨Sunny, Warm, ?, Strong, ?, ?⟩",
            "⟨Sunny, Warm, ?, ?, ?, ?⟩",
            "⟨Sunny, ?, ?, Strong, ?, ?⟩",
            "⟨?, Warm, ?, Strong, ?, ?⟩",
            "⟨Sunny, ?, ?, ?, ?, ?⟩",
            "⟨?, Warm, ?, ?, ?, ?⟩",
        ]
        assert sum(map(sport.posterior, sport.hypotheses())) == 1
        assert all(sport.posterior(h) == Fraction(1, 6) and h in sport for h in sport.hypotheses())
        out = Conjunction(ROWS.names, {"wind": "Strong"})
        assert out not in sport
        assert sport.posterior(out) == 0
        assert Conjunction.empty(ROWS.names) not in sport
        assert Conjunction(["sky"], {"sky": "Sunny"}) not in sport
        assert "⟨Sunny⟩" not in sport

    def test_votes_on_the_four_new_days(self, sport):
        assert sport.votes(CASES).tolist() == [6, 0, 3, 2]
        assert sport.unanimous(CASES).tolist() == [True, True, False, False]
        assert sport.predict(CASES).tolist() == ["yes", "no", "no", "no"]  # the third is a tie
        np.testing.assert_allclose(sport.predict_proba(CASES)[:, 1], [1, 0, 1 / 2, 1 / 3], rtol=1e-15, atol=0)

    def test_proba_follows_the_order_of_classes(self):
        space = tb.VersionSpace("no").fit(ROWS, ["no", "no", "yes", "no"])
        assert space.classes_.tolist() == ["no", "yes"]
        np.testing.assert_allclose(space.predict_proba(CASES)[:, 0], [1, 0, 1 / 2, 1 / 3], rtol=1e-15, atol=0)

    def test_derivation(self, sport):
        day = {name: values[3] for name, values in CASES.items()}
        assert str(sport.derivation(day)).splitlines() == [
            "P(h) = 1 / |H| = 1/973",
            "P(D | h) = 1 if h covers every positive row and no negative one, else 0",
            "P(D) = |VS| / |H| = 6 / 973 ≈ 0.0061665",
            "For each h in the version space VS:",
            "P(h | D) = P(D | h) × P(h) / P(D) = 1/973 / (6/973) = 1/6 ≈ 0.166667",
            "P(yes | x, D) = members that cover x / |VS| = 2 / 6 = 1/3 ≈ 0.333333",
        ]
        assert len(sport.derivation().lines) == 5

    def test_steps(self, sport):
        steps = sport.steps(SPORT, "enjoy").steps
        assert [len(step.general) for step in steps] == [1, 1, 1, 3, 2]
        assert steps[-1].general == sport.general_
        assert steps[3].label == "no"
        assert "row 3: ⟨Rainy, Cold, High, Strong, Warm, Change⟩ → no\n" in str(sport.steps(SPORT, "enjoy"))

    def test_states_that_no_row_shows_matter_for_the_prior_only(self, sport):
        frame = SPORT.to_arrow().to_pylist()
        plain = tb.VersionSpace().fit(frame, "enjoy")
        assert (plain.size_, plain.prior_size_) == (6, 1 + 3 * 3 * 3 * 2 * 3 * 3)
        assert plain.general_ == sport.general_
        states = {v.name: v.states for v in ROWS.variables}
        assert tb.VersionSpace(states=states).fit(frame, "enjoy").prior_size_ == 973


class TestEmpty:
    def test_play_tennis(self):
        with pytest.raises(EmptyVersionSpaceError) as caught:
            tb.VersionSpace().fit(tb.datasets.play_tennis(), "play")
        assert caught.value.row == 4
        assert caught.value.cells == {"outlook": "Rain", "temperature": "Mild", "humidity": "High", "wind": "Weak"}
        assert (
            "none is left at row 4, ⟨Rain, Mild, High, Weak⟩ → yes: covering it takes at least ⟨?, ?, High, Weak⟩, "
            "which covers negative row 1, ⟨Sunny, Hot, High, Weak⟩. A label may be wrong" in str(caught.value)
        )
        assert isinstance(caught.value, DataError)
        copied = pickle.loads(pickle.dumps(caught.value))  # as it comes back from another process
        assert (str(copied), copied.row, copied.cells) == (str(caught.value), 4, caught.value.cells)

    def test_a_negative_row_that_is_covered(self):
        space = tb.VersionSpace().fit(ROWS.take([0, 1]), ["yes", "yes"])
        before = (space.size_, space.specific_, space.classes_.tolist())
        with pytest.raises(EmptyVersionSpaceError) as caught:
            space.partial_fit(ROWS.take([2, 0, 1]), ["no", "no", "no"])
        assert caught.value.row == 4
        assert (
            "row 4, ⟨Sunny, Warm, Normal, Strong, Warm, Same⟩ → no: ⟨Sunny, Warm, ?, Strong, Warm, Same⟩, the"
            in str(caught.value)
        )
        assert (space.size_, space.specific_, space.classes_.tolist()) == before
        with pytest.raises(EmptyVersionSpaceError):
            space.fit(tb.datasets.play_tennis(), "play")
        assert (space.size_, space.specific_, space.classes_.tolist()) == before

    def test_many_attributes_are_named_only_where_they_matter(self):
        rows = np.full((3, 30), "a")
        rows[1, 3:] = rows[2, 4:] = "b"
        with pytest.raises(EmptyVersionSpaceError) as caught:
            tb.VersionSpace().fit(rows, [1, 1, 0])
        assert "row 3, ⟨a, a, a, a, b, b, b, b, b, b, …⟩ → 0: «x0 = a and x1 = a and x2 = a», the least" in str(
            caught.value
        )
        assert len(caught.value.cells) == 30

    def test_the_negative_row_may_have_come_in_an_earlier_part(self):
        space = tb.VersionSpace("yes").fit(ROWS.take([2, 0]), ["no", "yes"])
        with pytest.raises(EmptyVersionSpaceError, match="covers negative row 1, ⟨Rainy, Cold, High, Strong"):
            space.partial_fit(
                {name: [v.states[-1]] for name, v in zip(ROWS.names, ROWS.variables, strict=True)}, ["yes"]
            )

    def test_steps_end_where_nothing_is_left(self):
        steps = tb.VersionSpace().steps(tb.datasets.play_tennis(), "play").steps
        assert [step.row for step in steps] == [0, 1, 2, 3, 4]
        assert steps[-1].specific == steps[-1].general == ()
        assert str(steps[-1]).endswith("S  no hypothesis is left\n    G  no hypothesis is left")


def _many(n_attributes: int, differing: list[list[int]]) -> tuple[np.ndarray, list[str]]:
    """Return a positive row of a's, and negative ones that differ from it in some attributes."""
    rows = np.full((1 + len(differing), n_attributes), "a")
    for i, places in enumerate(differing, start=1):
        rows[i, places] = "b"
    return rows, ["yes", *["no"] * len(differing)]


def _hitting_sets(n_attributes: int, sets: list[list[int]]) -> int:
    """Return how many sets of attributes meet all of these, by inclusion and exclusion."""
    chosen = [c for size in range(len(sets) + 1) for c in combinations(sets, size)]
    return sum((-1) ** len(c) * 2 ** (n_attributes - len({a for s in c for a in s})) for c in chosen)


class TestManyAttributes:
    SETS = ([0, 1, 2, 70], [2, 3, 99], [4], [70, 71, 5], [0, 5, 6, 7, 8, 9])

    def test_a_hundred(self):
        states = {f"x{a}": ["a", "b"] for a in range(100)}
        space = tb.VersionSpace(states=states).fit(*_many(100, list(self.SETS)))
        assert space.size_ == _hitting_sets(100, list(self.SETS))
        assert len(space._members.free) == 100 - 13
        for h in space.general_:
            places = {int(name[1:]) for name in h.constraints}
            assert all(places & set(s) for s in self.SETS)
            assert not any(all((places - {a}) & set(s) for s in self.SETS) for a in places)
        case = np.full((1, 100), "a")
        case[0, [0, 1, 50]] = "b"
        expected = _hitting_sets(97, [[a for a in s if a > 1] for s in self.SETS])
        assert space.votes(case).tolist() == [expected]
        assert space.predict_proba(case)[0, 1] == pytest.approx(expected / space.size_, rel=1e-15)

    def test_too_many_open_attributes(self):
        rng = np.random.default_rng(0)
        space = tb.VersionSpace().fit(*_many(40, [rng.choice(40, 20, replace=False).tolist() for _ in range(8)]))
        assert len(space.specific_) == 1
        for ask in (lambda: space.size_, lambda: space.general_, lambda: space.unanimous([["a"] * 40])):
            with pytest.raises(DataError, match=r"table of hypotheses must have at most 16777216 cells.* More rows"):
                ask()

    def test_no_negative_row_needs_no_table(self):
        steps = tb.VersionSpace().steps([["a"] * 60, ["b"] * 60], ["yes", "yes"]).steps
        assert [len(step.general) for step in steps] == [1, 1, 1]

    def test_a_small_memory_limit_is_kept(self, monkeypatch):
        monkeypatch.setenv("TUNBRIDGE_MEMORY_LIMIT", "100")
        space = tb.VersionSpace().fit(*_many(10, [[0, 1, 2], [2, 3, 4], [4, 5, 6]]))
        with pytest.raises(
            tb.MemoryForecastError, match=r"the table of hypotheses would need .* More rows, especially positive"
        ):
            _ = space.size_


class TestManners:
    def test_new_states_come_later(self):
        space = tb.VersionSpace().fit([["a", "x"], ["b", "x"]], [1, 0])
        assert space.prior_size_ == 7
        space.partial_fit([["c", "x"]], [0])
        assert space.prior_size_ == 9
        assert [str(h) for h in space.general_] == ["⟨a, ?⟩"]
        whole = tb.VersionSpace().fit([["a", "x"], ["b", "x"], ["c", "x"]], [1, 0, 0])
        assert (whole.size_, whole.general_) == (space.size_, space.general_)

    def test_labels_of_two_types_stay_what_they_are(self):
        space = tb.VersionSpace(5).fit([["a", "x"]], ["bad"])
        assert (space.classes_.tolist(), space.positive_) == (["bad", 5], 5)
        assert space.predict_proba([["a", "x"]]).tolist() == [[1, 0]]

    def test_clone_and_not_fitted(self, sport):
        copy = clone(sport)
        assert copy.get_params() == {"positive": None, "states": None}
        assert not hasattr(copy, "size_")
        for ask in (lambda: copy.predict(CASES), lambda: copy.general_, lambda: copy.derivation(), lambda: 3 in copy):
            with pytest.raises(ValueError, match="not fitted"):
                ask()

    def test_only_negative_rows(self):
        space = tb.VersionSpace("yes").fit([["a", "x"], ["b", "y"]], ["no", "no"])
        assert space.specific_[0].is_empty
        assert space.size_ == 3
        assert [str(h) for h in space.hypotheses()] == ["⟨∅, ∅⟩", "⟨a, y⟩", "⟨b, x⟩"]
        assert space.predict([["a", "y"]]).tolist() == ["no"]

    def test_where_only_the_empty_concept_is_left(self):
        space = tb.VersionSpace("yes").fit([["a"]], ["no"])
        assert (space.size_, space.general_, space.hypotheses()) == (1, space.specific_, space.specific_)
        assert Conjunction(["x0"], {"x0": "no such state"}) not in space

    @pytest.mark.parametrize(
        ("ask", "message"),
        [
            (
                lambda s: s.hypotheses(5),
                "must have at most 5 members to be listed; it has 6 members. Use a larger limit",
            ),
            (lambda s: s.hypotheses(0), "limit must be at least 1; got 0"),
            (lambda s: s.posterior("⟨Sunny⟩"), "a hypothesis must be a Conjunction; got '⟨Sunny⟩'"),
            (lambda s: s.derivation(CASES), "a case must be one row; got 4 rows"),
            (lambda s: s.steps(ROWS.take([0] * 300), ["yes"] * 300), "at most 200 rows; got 300"),
        ],
    )
    def test_bad_questions(self, sport, ask, message):
        with pytest.raises(DataError) as caught:
            ask(sport)
        assert message in str(caught.value)


class TestConceptSpace:
    def test_without_noise_it_is_the_version_space(self, sport):
        space = concept_space(SPORT, "enjoy")
        assert len(space) == 973
        members = {h: share for h, share in space.shares.items() if share}
        assert members == {h: Fraction(1, 6) for h in sport.hypotheses()}
        assert space.evidence == sport.evidence_
        for i, share in enumerate([1, 0, Fraction(1, 2), Fraction(1, 3)]):
            case = {name: values[i] for name, values in CASES.items()}
            assert space.predictive(case).get("yes", 0.0) == pytest.approx(float(share), rel=1e-12)

    def test_noise_weighs_by_right_and_wrong_labels(self):
        table, wrong = tb.datasets.play_tennis(), Fraction(1, 10)
        space = concept_space(table, "play", noise="1/10")
        rows = list(zip(*table.to_arrow().to_pydict().values(), strict=True))
        weights = {}
        for h in space.names:
            right = sum(h.covers(row[:-1]) == (row[-1] == "yes") for row in rows)
            weights[h] = (1 - wrong) ** right * wrong ** (len(rows) - right)
        total = sum(weights.values())
        assert space.shares == {h: weight / total for h, weight in weights.items()}
        assert str(space.map) == "⟨?, ?, Normal, ?⟩"

    def test_prior_is_passed_on(self):
        prior = dict.fromkeys(tb.reasoning.all_conjunctions(ROWS.variables), 0)
        general = Conjunction(ROWS.names, {"air_temp": "Warm"})
        space = concept_space(SPORT, "enjoy", prior={**prior, general: 1})
        assert space.map == general

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"noise": 0.5}, "noise must be below 1/2; got 0.5"),
            ({"noise": -0.1}, "noise must lie between 0 and 1; got -0.1"),
            ({"positive": "maybe"}, "positive must be one of the classes; got 'maybe'"),
            (
                {"states": {"sky": ["Sunny", "Rainy", *range(50_000)]}},
                "at most 50 000 conjunctions and 4 000 000 pairs of one and a row; got 12 150 730 "
                "conjunctions and 4 different rows. Leave attributes out",
            ),
        ],
    )
    def test_bad_input(self, settings, message):
        with pytest.raises(DataError) as caught:
            concept_space(SPORT, "enjoy", **settings)
        assert message in str(caught.value)

    @pytest.mark.parametrize("noise", [0.2, "1/5"])
    def test_many_rows_of_a_few_kinds(self, noise):
        table = tb.datasets.play_tennis().take([*range(14)] * 3000)  # more than 4 000 000 pairs, if all rows counted
        space = concept_space(table, "play", noise=noise)
        assert space.n_observed == 42_000
        rows = list(zip(*tb.datasets.play_tennis().to_arrow().to_pydict().values(), strict=True))
        for h, found in space.log_likelihoods.items():
            right = sum(h.covers(row[:-1]) == (row[-1] == "yes") for row in rows)
            assert found == pytest.approx(3000 * (right * math.log(0.8) + (14 - right) * math.log(0.2)), rel=1e-12)

    @pytest.mark.parametrize("noise", [0.2, "1/5"])
    def test_many_different_rows(self, noise):
        cells = np.random.default_rng(0).integers(0, 3, (60, 5)).astype(str)
        labels = np.where((cells[:, 0] == "1") & (cells[:, 2] == "0"), "yes", "no")
        space = concept_space(cells, labels, noise=noise)
        assert str(space.map) == "⟨1, ?, 0, ?, ?⟩"
        for h, found in space.log_likelihoods.items():
            right = sum(h.covers(row) == (label == "yes") for row, label in zip(cells, labels, strict=True))
            assert found == pytest.approx(right * math.log(0.8) + (60 - right) * math.log(0.2), rel=1e-12)

    def test_different_rows_count_towards_the_limit(self):
        names = [f"s{i}" for i in range(2500)]
        with pytest.raises(DataError, match="got 5 003 conjunctions and 2 500 different rows"):
            concept_space({"a": names, "b": ["x"] * 2500, "y": ["yes", "no"] * 1250}, "y", noise=0.1)

    def test_more_rows_in_any_form(self):
        space = concept_space(SPORT, "enjoy", noise="1/10")
        new = {name: values[0] for name, values in CASES.items()}
        for case in (new, list(new.values()), tuple(new.values())):
            after = space.update([(case, "yes")])
            for h in (space.map, Conjunction.empty(ROWS.names)):
                chance = Fraction(9, 10) if h.covers(new) else Fraction(1, 10)
                change = after.log_likelihoods[h] - space.log_likelihoods[h]
                assert change == pytest.approx(math.log(chance), rel=1e-12)

    def test_noise_free_contradictions_are_impossible(self):
        with pytest.raises(ImpossibleEvidenceError, match="observation 4"):
            concept_space(tb.datasets.play_tennis(), "play")
