"""What the version space says in words and formulas: its posterior, its vote, and the row that left nothing of it."""

from __future__ import annotations

from fractions import Fraction

from tunbridge.data import State
from tunbridge.errors import EmptyVersionSpaceError
from tunbridge.reasoning.concepts.concept_evidence import Contradiction, cells_text, hypothesis_text
from tunbridge.reasoning.concepts.concept_target import Target
from tunbridge.reasoning.derivation import (
    Equation,
    Term,
    equation,
    number,
    probability,
    product,
    ratio,
    rounded,
    symbol,
    words,
)

_NOISE = (
    "A label may be wrong, or the concept be no conjunction: reasoning.concept_space(..., noise=0.1) allows for wrong "
    "labels, NaiveBayesClassifier for both."
)


def posterior_lines(size: int, prior_size: int) -> tuple[Equation | str, ...]:
    """Return the posterior of each member of the version space."""
    h, data, all_of_them = symbol("h"), symbol("D"), symbol("|H|")
    prior, given, evidence = probability(h), probability(data, h), probability(data)
    share, found = Fraction(1, prior_size), Fraction(size, prior_size)
    posterior = Fraction(1, size)
    return (
        equation(prior, ratio(number(Fraction(1)), all_of_them), number(share)),
        equation(given, words("1 if h covers every positive row and no negative one, else 0")),
        equation(evidence, ratio(symbol("|VS|"), all_of_them), *_shares(size, prior_size)),
        "For each h in the version space VS:",
        equation(
            probability(h, data),
            ratio(product(given, prior), evidence),
            ratio(number(share), number(found)),
            number(posterior),
            rounded(posterior),
        ),
    )


def vote_line(positive: State, votes: int, size: int) -> Equation:
    """Return the probability that a case is in the concept."""
    covering = ratio(words("members that cover x"), symbol("|VS|"))
    return equation(probability(positive, symbol("x, D")), covering, *_shares(votes, size))


def emptied(lost: Contradiction, target: Target) -> EmptyVersionSpaceError:
    """Return the error about a row with which no conjunction fits all rows."""
    is_negative, hypothesis = lost.row == lost.negative_row, hypothesis_text(lost.hypothesis)
    label = target.negative if is_negative else target.positive
    why = (
        f"{hypothesis}, the least general conjunction that covers the positive rows, covers it too"
        if is_negative
        else f"to cover it too takes at least {hypothesis}, which covers the negative row {lost.negative_row}, "
        f"{cells_text(lost.negative_cells)}"
    )
    message = (
        f"a conjunction must fit all rows; none is left at row {lost.row}, {cells_text(lost.cells)} → {label}: {why}. "
        f"{_NOISE}"
    )
    cells = dict(zip(lost.hypothesis.attributes, lost.cells, strict=True))
    return EmptyVersionSpaceError(message, row=lost.row, cells=cells)


def _shares(part: int, whole: int) -> list[Term]:
    """Return a ratio of whole numbers as it is, reduced where it can be, and as a decimal."""
    share = Fraction(part, whole)
    reduced = [number(share)] if share.denominator < whole else []
    return [ratio(number(Fraction(part)), number(Fraction(whole))), *reduced, rounded(share)]
