"""How conjugate updates explain themselves: posterior ∝ likelihood × prior, with the numbers in it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from tunbridge.reasoning.conjugates.conjugate import evidence, log_evidence
from tunbridge.reasoning.derivation import (
    Derivation,
    Equation,
    Term,
    equation,
    number,
    product,
    ratio,
    rounded,
    symbol,
    total,
    words,
)
from tunbridge.reasoning.numbers import Number, as_float, exact_value, like

if TYPE_CHECKING:
    from tunbridge.reasoning.conjugates.beta_binomial import BetaBinomial
    from tunbridge.reasoning.conjugates.normal_normal import NormalNormal

_SHOWN = 6


def beta_lines(after: BetaBinomial, before: BetaBinomial, successes: int, failures: int) -> Derivation:
    """Return prior, likelihood, posterior and mean of a beta-binomial."""
    prior, posterior = (_powers(belief.alpha, belief.beta) for belief in (before, after))
    shape = symbol("p^(α − 1) (1 − p)^(β − 1)", r"p^{\alpha - 1} (1 - p)^{\beta - 1}")
    mean = ratio(number(after.alpha), total(number(after.alpha), number(after.beta)))
    rule = ratio(symbol("α", r"\alpha"), symbol("(α + β)", r"(\alpha + \beta)"))
    mean_line = equation(
        symbol("E(p)") if not successes + failures else symbol("E(p | D)", r"E(p \mid D)"),
        rule,
        mean,
        number(after.mean),
        rounded(after.mean),
    )
    first = equation(_proportional("P(p)", "P(p)", shape), prior)
    if not successes + failures:
        return Derivation((first, mean_line))
    seen = _exponents(number(Fraction(successes)), number(Fraction(failures)))
    return Derivation(
        (
            first,
            equation(symbol("P(D | p)", r"P(D \mid p)"), seen),
            equation(_proportional("P(p | D)", r"P(p \mid D)", product(seen, prior)), posterior),
            mean_line,
            _evidence_line(before._alphas, (successes, failures)),
        )
    )


def dirichlet_lines(
    states: Sequence[Hashable], before: Sequence[Number], counts: Sequence[int], after: Sequence[Number]
) -> Derivation:
    """Return prior and posterior of a Dirichlet-multinomial, and the mean of each state."""
    whole = like(sum(map(exact_value, after), Fraction(0)), after)
    rule = ratio(symbol("(a_k + n_k)", "(a_k + n_k)"), symbol("(a + n)", "(a + n)"))
    lines: list[Equation | str] = [
        "Prior, likelihood and posterior are products of p_k, to the powers a_k − 1, n_k and a_k + n_k − 1.",
    ]
    for state, a, n, sum_ in list(zip(states, before, counts, after, strict=True))[:_SHOWN]:
        asked = symbol(f"E(p({state}) | D)", rf"E(p({words(state).latex}) \mid D)")
        value = like(exact_value(sum_) / exact_value(whole), after)
        above = total(number(a), number(Fraction(n)))
        lines.append(equation(asked, rule, ratio(above, number(whole)), number(value), rounded(value)))
    if len(states) > _SHOWN:
        lines.append(f"… ({len(states)} states in all)")
    return Derivation((*lines, *([_evidence_line(before, counts)] if any(counts) else [])))


def normal_lines(after: NormalNormal, before: NormalNormal) -> Derivation:
    """Return precision and mean of a normal posterior as sums."""
    n, summed = after.seen
    m, v, noise = number(before.mean), number(before.variance), number(before.noise_variance)
    if not n:
        return Derivation(
            (equation(symbol("E(θ)", r"E(\theta)"), m), equation(symbol("Var(θ)", r"\mathrm{Var}(\theta)"), v))
        )
    count, mean = number(Fraction(n)), number(like(exact_value(summed) / n, [summed]))
    one, variance = number(Fraction(1)), number(after.variance)
    inverse = like(1 / exact_value(after.variance), [after.variance])
    return Derivation(
        (
            equation(
                symbol("1 / Var(θ | D)", r"1 / \mathrm{Var}(\theta \mid D)"),
                symbol("1/v + n/s²", "1/v + n/s^2"),
                total(ratio(one, v), ratio(count, noise)),
                number(inverse),
            ),
            equation(
                symbol("E(θ | D)", r"E(\theta \mid D)"),
                symbol("(m/v + n x̄/s²) / (1/v + n/s²)", r"\frac{m/v + n \bar x/s^2}{1/v + n/s^2}"),
                product(variance, total(ratio(m, v), ratio(product(count, mean), noise))),
                number(after.mean),
                rounded(after.mean),
            ),
            _share_line(before, n, noise),
        )
    )


def _share_line(before: NormalNormal, n: int, noise: Term) -> Equation:
    """Return the weight that the data have in the posterior mean."""
    v, s = exact_value(before.variance), exact_value(before.noise_variance)
    share = like(n * v / (s + n * v), [before.variance, before.noise_variance])
    data = product(number(Fraction(n)), number(before.variance))
    rule = ratio(symbol("nv"), symbol("(s² + nv)", "(s^2 + nv)"))
    return equation(words("weight of the data"), rule, ratio(data, total(noise, data)), number(share), rounded(share))


def _evidence_line(alphas: Sequence[Number], counts: Sequence[int]) -> Equation:
    """Return P(D) as a ratio of beta functions, B(a) = Π Γ(a_k) / Γ(Σ a_k); its logarithm if it is too small."""
    value = evidence(alphas, counts)
    if as_float(value) == 0.0:
        return equation(symbol("ln P(D)", r"\ln P(D)"), number(log_evidence(alphas, counts)))
    moved = [like(exact_value(a) + n, [a]) for a, n in zip(alphas, counts, strict=True)]
    rule = ratio(symbol("B(a + n)"), symbol("B(a)"))
    return equation(symbol("P(D)"), rule, ratio(_beta(moved), _beta(alphas)), number(value), rounded(value))


def _beta(values: Sequence[Number]) -> Term:
    terms = [number(value) for value in values[:_SHOWN]]
    more = (", …", r", \dots") if len(values) > _SHOWN else ("", "")
    texts, latexes = ", ".join(term.text for term in terms), ", ".join(term.latex for term in terms)
    return Term(f"B({texts}{more[0]})", f"B({latexes}{more[1]})")


def _powers(alpha: Number, beta: Number) -> Term:
    """Return p^(α − 1) (1 − p)^(β − 1) with the numbers in it."""
    return _exponents(*(number(like(exact_value(a) - 1, [a])) for a in (alpha, beta)))


def _exponents(first: Term, second: Term) -> Term:
    texts = [term.text if term.text.isdigit() else f"({term.text})" for term in (first, second)]
    return Term(f"p^{texts[0]} (1 − p)^{texts[1]}", rf"p^{{{first.latex}}} (1 - p)^{{{second.latex}}}", 1)


def _proportional(text: str, latex: str, to: Term) -> Term:
    return symbol(f"{text} ∝ {to.text}", rf"{latex} \propto {to.latex}")
