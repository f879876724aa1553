"""The continuous part of a mixed network, cut into pieces that evidence leaves independent, and solved piece by piece.

Given the categories, continuous variables with linear Gaussian tables are jointly Gaussian. Families that are connected
only through *observed* variables are independent: an observed parent is a constant. So the families that matter (those
of observed variables, of the targets, and of their ancestors) fall into **components**, connected through unobserved
variables, and each depends on a few categories only, its **scope**.

For one configuration of its scope a component is a set of equations with independent noise ε ~ N(0, 1), one for each
family v: with z = (1, observed values), u the unobserved ones, and a, b, s the table's intercept, coefficients and
standard deviation,

    (x_v − a − Σ b_p x_p) / s = ε_v,        together     C z + A u = ε.

With the orthogonal factors A = Q (R; 0) and Q = (Q₁ Q₂), all that is wanted can be read off:

    ln p(observed) = −½ |Q₂ᵀ C z|² − Σ ln s − Σ ln |R_ii| − ½ (n_equations − n_unobserved) ln 2π
    E[u | observed] = −R⁻¹ Q₁ᵀ C z,        Cov[u | observed] = R⁻¹ R⁻ᵀ.

Nothing is squared on the way, so that small variances beside large ones cost few digits. Equations are sorted by size
before the factorisation for the same reason. An unobserved variable that is an exact function of its parents (variance
0) is no unknown: it is written in terms of the others.

References
----------
S. L. Lauritzen (1992). Propagation of probabilities, means, and variances in mixed graphical association models.
Journal of the American Statistical Association 87, 1098–1108.

S. L. Lauritzen, F. Jensen (2001). Stable local computation with conditional Gaussian distributions. Statistics and
Computing 11, 191–203.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from tunbridge._core.check import listed
from tunbridge._core.memory import check_memory
from tunbridge.counts.radix import configuration_codes
from tunbridge.data import Variable
from tunbridge.errors import DataError
from tunbridge.graph.walks import closure, topological_order
from tunbridge.inference.flat import children_of
from tunbridge.probability import LinearGaussian

_LOG_TWO_PI = math.log(2.0 * math.pi)
_NEAR = 1e-9  # how near, relatively, a number must be to the exact value of a function to be taken for it
WAYS_OUT = "Ways out: observe more of the categories, or of the numbers between them; give numbers fewer categories."


class Component(NamedTuple):
    """Continuous families that hang together through unobserved numbers.

    Parameters
    ----------
    members : tuple of int
        The variables whose families they are, parents first.
    scope : tuple of int
        The categorical variables they depend on, in ascending order.
    observed, hidden : tuple of int
        The continuous variables that occur in the families, in ascending order.
    """

    members: tuple[int, ...]
    scope: tuple[int, ...]
    observed: tuple[int, ...]
    hidden: tuple[int, ...]


class ContinuousPart:
    """The continuous families of a network; empty where every variable is categorical.

    Parameters
    ----------
    variables : sequence of Variable
        All variables of the network, by number.
    tables : mapping of int to LinearGaussian
        The table of each continuous variable.

    Attributes
    ----------
    numbers : tuple of int
        The continuous variables.
    categories, causes : dict of int to tuple of int
        The categorical and the continuous parents of each.
    """

    def __init__(self, variables: Sequence[Variable], tables: Mapping[int, LinearGaussian]) -> None:
        index = {variable.name: v for v, variable in enumerate(variables)}
        self.variables, self.tables, self.numbers = tuple(variables), dict(tables), tuple(tables)
        self.categories = {v: tuple(index[p.name] for p in t.discrete_parents) for v, t in tables.items()}
        self.causes = {v: tuple(index[p.name] for p in t.continuous_parents) for v, t in tables.items()}

    @cached_property
    def order(self) -> dict[int, int]:
        """The place of each continuous variable in an order that has parents first."""
        at = {v: i for i, v in enumerate(self.numbers)}
        parents = [[at[p] for p in self.causes[v]] for v in self.numbers]
        return {self.numbers[i]: k for k, i in enumerate(topological_order(parents, children_of(parents)))}

    def names(self, some: Iterable[int]) -> str:
        """Return the names of variables for a message."""
        return listed([self.variables[v].name for v in some], most=4)

    def shape(self, scope: Iterable[int]) -> tuple[int, ...]:
        """Return the numbers of states of categorical variables."""
        return tuple(self.variables[v].n_states for v in scope)

    def n_configurations(self, scope: Iterable[int]) -> float:
        """Return how many configurations categorical variables have."""
        return math.prod(map(float, self.shape(scope)))

    def cut(self, observed: Collection[int], wanted: Iterable[int] = ()) -> list[Component]:
        """Return the components that matter for the density of the observed numbers and for the wanted ones."""
        known = set(observed)
        links = [self.causes.get(v, ()) for v in range(len(self.variables))]
        kept = sorted(closure(links, [*known, *wanted]), key=self.order.__getitem__)
        root = {v: v for v in kept}

        def top(v: int) -> int:
            while root[v] != v:
                root[v] = v = root[root[v]]
            return v

        for v in kept:
            hidden = [u for u in (*self.causes[v], v) if u not in known]
            for u in hidden:
                root[top(u)] = top(hidden[0])
        groups: dict[object, list[int]] = {}
        for v in kept:
            hidden = [u for u in (*self.causes[v], v) if u not in known]
            groups.setdefault(top(hidden[0]) if hidden else (v, "alone"), []).append(v)
        return [self._component(members, known) for members in groups.values()]

    def components_of(self, observed: Collection[int], wanted: Iterable[int]) -> dict[int, Component]:
        """Return for each wanted variable that is not observed a component that determines it.

        That of a descendant is used where it depends on the same categories.
        """
        found: dict[int, Component] = {}
        for v in sorted(set(wanted) - set(observed), key=self.order.__getitem__, reverse=True):
            own = next(c for c in self.cut(observed, [v]) if v in c.members)
            found[v] = next((c for c in found.values() if v in c.members and c.scope == own.scope), own)
        return found

    def _component(self, members: Sequence[int], known: Collection[int]) -> Component:
        scope = sorted({d for v in members for d in self.categories[v]})
        inside = sorted({u for v in members for u in (*self.causes[v], v)})
        observed, hidden = [u for u in inside if u in known], [u for u in inside if u not in known]
        return Component(tuple(members), tuple(scope), tuple(observed), tuple(hidden))


class Solution(NamedTuple):
    """A component solved for q configurations of its scope.

    Parameters
    ----------
    component : Component
        What was solved.
    scope : tuple of int
        The categories that are not fixed.
    codes : ndarray of shape (q, len(scope))
        The configurations; all of them, the last category fastest, or those requested.
    unknowns : tuple of int
        The n unobserved numbers that are no exact functions of others.
    log_scale : ndarray of shape (q,)
        What does not depend on the observed values in their log-density.
    residuals : ndarray of shape (q, m, 1 + k)
        Q₂ᵀ C for k observed numbers: half the squared length of its product with z is taken off.
    exact : ndarray of shape (q, e, 1 + k)
        Equations without noise between observed numbers, which must give 0.
    means : ndarray of shape (q, n, 1 + k)
        −R⁻¹ Q₁ᵀ C: times z the expected values of the unknowns.
    roots : ndarray of shape (q, n, n)
        R⁻¹, a square root of their covariance.
    expressions : mapping of int to ndarray of shape (q, 1 + k + n)
        Every continuous variable of the component as a linear function of z and the unknowns.
    """

    component: Component
    scope: tuple[int, ...]
    codes: np.ndarray
    unknowns: tuple[int, ...]
    log_scale: np.ndarray
    residuals: np.ndarray
    exact: np.ndarray
    means: np.ndarray
    roots: np.ndarray
    expressions: Mapping[int, np.ndarray]

    def log_density(self, z: np.ndarray) -> np.ndarray:
        """Return ln p(observed) for rows z of shape (n, 1 + k): an array of shape (n, q)."""
        found = self.log_scale - 0.5 * _squares(self.residuals, z)
        return self._where_exact(found, np.einsum("qek,nk->nqe", self.exact, z), z)

    def log_density_at(self, z: np.ndarray, at: np.ndarray) -> np.ndarray:
        """Return the same for some configurations ``at`` of each row, an array of shape (n, h), or (1, h) for all."""
        if len(at) == 1:
            some = at[0]
            parts = {"log_scale": self.log_scale, "residuals": self.residuals, "exact": self.exact}
            return self._replace(**{name: array[some] for name, array in parts.items()}).log_density(z)
        off = np.einsum("nhmk,nk->nhm", self.residuals[at], z)
        found = self.log_scale[at] - 0.5 * (off * off).sum(axis=-1)
        return self._where_exact(found, np.einsum("nhek,nk->nhe", self.exact[at], z), z)

    def _where_exact(self, found: np.ndarray, off: np.ndarray, z: np.ndarray) -> np.ndarray:
        if not self.exact.shape[1]:
            return found
        near = _NEAR * np.abs(z).max(axis=1)[:, None, None]
        return np.where((np.abs(off) <= near).all(axis=-1), found, -np.inf)

    def moments(self, v: int, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance of a variable given the observed, in each configuration: shapes (n, q) and (q,)."""
        own = self.expressions[v]
        k = z.shape[1]
        means = np.einsum("qk,nk->nq", own[:, :k] + np.einsum("qu,quk->qk", own[:, k:], self.means), z)
        spread = np.einsum("qu,quw->qw", own[:, k:], self.roots)
        return means, (spread * spread).sum(axis=-1)


def solve(part: ContinuousPart, component: Component, fixed: Mapping[int, int] | None = None) -> Solution:
    """Return a component solved for each configuration of its scope, some categories being fixed at codes.

    Raises
    ------
    MemoryForecastError
        When the configurations are too many; nothing was allocated.
    """
    fixed = fixed or {}
    scope = tuple(d for d in component.scope if d not in fixed)
    shape = part.shape(scope)
    check_solution(part, component, scope)
    codes = configuration_codes(np.arange(math.prod(shape)), shape)
    return _Equations(part, component, scope, codes, fixed).solved()


def solve_some(part: ContinuousPart, component: Component, codes: np.ndarray) -> Solution:
    """Return a component solved for some configurations of its scope, one in each row of codes."""
    check_solution(part, component, component.scope, float(len(codes)))
    return _Equations(part, component, component.scope, codes, {}).solved()


def n_bytes_of(component: Component, n_configurations: float) -> float:
    """Return the bytes that solving a component for so many configurations takes."""
    m, k, u = len(component.members), 1 + len(component.observed), len(component.hidden)
    each = (m + len(component.observed) + u) * (k + u) + 2 * m * (m + u + k) + u * (k + u)
    return 8.0 * each * n_configurations


def too_far_apart(names: str) -> str:
    """Return why continuous variables cannot be computed with."""
    return (
        f"the coefficients and standard deviations of {names} must not differ so much in size that numbers overflow "
        "or vanish. Measure them in other units."
    )


def check_solution(
    part: ContinuousPart, component: Component, scope: Sequence[int], n_configurations: float | None = None
) -> None:
    """Raise before the configurations of a component's scope (all, or so many) would not fit into memory."""
    n = part.n_configurations(scope) if n_configurations is None else n_configurations
    what = f"the {n:.3g} configurations of {part.names(scope)} behind {part.names(component.members)}"
    check_memory(what, n_bytes_of(component, n), ways_out=WAYS_OUT)


class _Equations:
    """The equations of a component in every configuration, while they are written down."""

    def __init__(
        self,
        part: ContinuousPart,
        component: Component,
        scope: tuple[int, ...],
        configurations: np.ndarray,
        fixed: Mapping[int, int],
    ) -> None:
        self.part, self.component, self.scope, self.configurations = part, component, scope, configurations
        self.codes: dict[int, Any] = dict(zip(scope, configurations.T, strict=True)) | dict(fixed)
        self.q, self.k = len(configurations), 1 + len(component.observed)
        self.unknowns = tuple(u for u in component.hidden if not part.tables[u].is_exact)
        self.width = self.k + len(self.unknowns)
        self.expressions: dict[int, np.ndarray] = {}
        for i, v in enumerate((*component.observed, *self.unknowns)):
            self.expressions[v] = np.zeros((self.q, self.width))
            self.expressions[v][:, 1 + i] = 1.0

    def solved(self) -> Solution:
        """Write down the equations, parents before children, and solve them; raise DataError if they overflow."""
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # looked for in the result
            try:
                found = self._written_down()
            except np.linalg.LinAlgError:  # an entry that cannot be 0 has vanished, or one has overflowed
                found = None
        if found is None or not all(np.isfinite(a).all() for a in (found.log_scale, found.means, found.roots)):
            raise DataError(too_far_apart(self.part.names(self.component.members)))
        return found

    def _written_down(self) -> Solution:
        rows, exact, log_scale = [], [], np.zeros(self.q)
        for v in self.component.members:
            predicted, deviation = self._predicted(v)
            if v not in self.expressions:  # an exact function of its parents that is not observed
                self.expressions[v] = predicted
            elif deviation is None:
                exact.append(self._checked_exact(v, self.expressions[v] - predicted))
            else:
                rows.append((self.expressions[v] - predicted) / deviation[:, None])
                log_scale -= np.log(deviation)
        stacked = np.stack(rows, axis=1) if rows else np.zeros((self.q, 0, self.width))
        log_scale -= 0.5 * (len(rows) - len(self.unknowns)) * _LOG_TWO_PI
        constraints = np.stack(exact, axis=1) if exact else np.zeros((self.q, 0, self.k))
        return self._solved(stacked, constraints, log_scale)

    def _predicted(self, v: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the mean of a variable as a linear function, and its standard deviation (None: exactly the mean)."""
        table = self.part.tables[v]
        j = np.zeros(self.q, np.int64)
        for d in self.part.categories[v]:
            j = j * self.part.variables[d].n_states + self.codes[d]
        predicted = np.zeros((self.q, self.width))
        predicted[:, 0] = table.intercepts.ravel()[j]
        coefficients = table.coefficients.reshape(table.n_configurations, len(self.part.causes[v]))[j]
        for i, p in enumerate(self.part.causes[v]):
            predicted += coefficients[:, i, None] * self.expressions[p]
        return predicted, None if table.is_exact else np.sqrt(table.variances.ravel()[j])

    def _checked_exact(self, v: int, equation: np.ndarray) -> np.ndarray:
        if equation[:, self.k :].any():
            hint = "Give it a small variance, or observe its parents too."
            raise DataError(
                f"an observed number must not be an exact function of unobserved ones; {self.part.names([v])} is "
                f"(its variance is 0). {hint}"
            )
        return equation[:, : self.k]

    def _solved(self, rows: np.ndarray, exact: np.ndarray, log_scale: np.ndarray) -> Solution:
        n, k = len(self.unknowns), self.k
        if not n:
            means, roots = np.zeros((self.q, 0, k)), np.zeros((self.q, 0, 0))
            found = rows, means, roots
        else:
            order = np.argsort(-np.abs(rows[:, :, k:]).max(axis=2), axis=1, kind="stable")
            rows = np.take_along_axis(rows, order[:, :, None], axis=1)
            q, r = np.linalg.qr(rows[:, :, k:], mode="complete")
            turned = q.transpose(0, 2, 1) @ rows[:, :, :k]
            r = r[:, :n]
            roots = np.linalg.solve(r, np.broadcast_to(np.eye(n), r.shape))
            log_scale = log_scale - np.log(np.abs(np.diagonal(r, axis1=1, axis2=2))).sum(axis=1)
            found = turned[:, n:], -roots @ turned[:, :n], roots
        return Solution(
            self.component, self.scope, self.configurations, self.unknowns, log_scale, found[0], exact, found[1],
            found[2], self.expressions,
        )  # fmt: skip


def _squares(residuals: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return the squared lengths of residuals times z: shape (n, q)."""
    q, m, k = residuals.shape
    off = (z @ residuals.reshape(q * m, k).T).reshape(len(z), q, m)
    return np.einsum("nqm,nqm->nq", off, off)
