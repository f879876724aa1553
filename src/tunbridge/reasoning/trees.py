"""Decision trees and network structures by minimum description length.

*Trees.* The attributes of n rows are known, and their classes are described by a decision tree and the rows in which it
is wrong. A tree is described from its root down, branch by branch:

* one bit for each node: a leaf, or a test;
* for a test, which of the a attributes not yet tested above it, log₂ a bits;
* for a leaf its class, log₂ r bits with r classes.

At a leaf with m rows, k of them not of its class, the exceptions take

    log₂(b + 1) + log₂ C(m, k) + k log₂(r − 1)   bits,    b = m − ⌈m/r⌉:

their number, at most b because the class is the most frequent one, their places, and the class of each. The tree is
L(h), the exceptions are L(D | h).

The search grows a tree from the root, at each node by the test with the largest information gain, until no test can
pay, or several in a row have not. Then, from the leaves up, every test that costs more than it saves becomes a leaf:
lengths add up over branches, so this finds the shortest of all prunings. Because information gain favours tests with
many branches, a second tree is grown by the test that makes the description shortest if its branches were leaves. The
tree with the shorter pruning is kept.

*Structures.* For a Bayesian network with graph G, each of the q (r − 1) free parameters of a family (r states of the
child, q configurations of its parents) is described to the precision that N rows deserve, ½ log₂ N bits:

    L(G) = ½ log₂ N Σ q (r − 1),        L(D | G) = −Σ n_jk log₂(n_jk / n_j).

Together they are −BIC(G)/ln 2: the shortest description has the largest BIC. The parents can be described too: Lam and
Bacchus take log₂ n bits for each arc of a graph with n nodes.

References
----------
J. R. Quinlan, R. L. Rivest (1989). Inferring decision trees using the minimum description length principle. Information
and Computation 80, 227–248. (With two classes this is their code, but they take b = (m + 1)/2.)
J. R. Quinlan (1986). Induction of decision trees. Machine Learning 1, 81–106. (Information gain.)
C. S. Wallace, J. D. Patrick (1993). Coding decision trees. Machine Learning 11, 7–22. (One bit for a node is more than
needed if tests have three branches or more.)
W. Lam, F. Bacchus (1994). Learning Bayesian belief networks: an approach based on the MDL principle. Computational
Intelligence 10, 269–293.
N. Friedman, M. Goldszmidt (1998). Learning Bayesian networks with local structure. In M. I. Jordan (ed.), Learning in
Graphical Models, MIT Press, 421–459.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import xlogy

from tunbridge._core.check import check_integer, check_number, listed, shortened, warn_user
from tunbridge.data import Column, Table, Variable, as_table, encode
from tunbridge.errors import DataError, UnseenStateWarning
from tunbridge.graph import DAG
from tunbridge.learning.structure import network_table, score_structure
from tunbridge.network import BayesianNetwork
from tunbridge.reasoning.code_lengths import (
    DescriptionChoice,
    DescriptionLength,
    log2_binomial,
    naming_bits,
    shortest_description,
)
from tunbridge.reasoning.concept_rows import as_classes, as_labels, split_target

_DEEPEST = 100


# Decision trees


@dataclass(frozen=True)
class Node:
    """A node of a tree: a test of an attribute, or a leaf.

    Parameters
    ----------
    counts : tuple of int
        The number of its rows of each class.
    label : int
        Its class.
    attribute : int, optional
        The number of the tested attribute; None for a leaf.
    branches : tuple of Node
        One for each state of the attribute.
    """

    counts: tuple[int, ...]
    label: int
    attribute: int | None = None
    branches: tuple[Node, ...] = ()

    @property
    def depth(self) -> int:
        """The largest number of tests of a row, from here."""
        return 1 + max(branch.depth for branch in self.branches) if self.branches else 0

    def nodes(self) -> Iterator[Node]:
        """Yield this node and all below it."""
        yield self
        for branch in self.branches:
            yield from branch.nodes()

    def cut_off(self, depth: int) -> Node:
        """Return the tree without its tests below a depth."""
        if not self.branches or depth == 0:
            return Node(self.counts, self.label)
        return replace(self, branches=tuple(branch.cut_off(depth - 1) for branch in self.branches))


@dataclass(frozen=True, eq=False, repr=False)
class DecisionTree:
    """A decision tree over categorical attributes.

    It prints one line per branch, with the number of rows and of exceptions at each leaf.

    Parameters
    ----------
    target : Variable
        The classes.
    attributes : tuple of Variable
        The attributes that may be tested.
    root : Node
        The first test.
    """

    target: Variable
    attributes: tuple[Variable, ...]
    root: Node

    @property
    def depth(self) -> int:
        """The largest number of tests of a row."""
        return self.root.depth

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return sum(node.attribute is None for node in self.root.nodes())

    def predict(self, frame: object) -> np.ndarray:
        """Return the class of each row.

        A row with a missing value or an unseen category at a test gets the most frequent class there.
        """
        used = sorted({node.attribute for node in self.root.nodes() if node.attribute is not None})
        table, unseen = encode(frame, [self.attributes[i] for i in used]) if used else (as_table(frame), {})
        if unseen:
            name, new = next(iter(unseen.items()))
            warn_user(f"{name!r} has unseen categories: {listed(new)}.", UnseenStateWarning)
        codes = {i: table.codes(self.attributes[i].name) for i in used}
        found = np.zeros(table.n_rows, np.intp)
        waiting = [(self.root, np.arange(table.n_rows))]
        while waiting:
            node, rows = waiting.pop()
            found[rows] = node.label
            if node.attribute is not None:
                states = codes[node.attribute][rows]
                waiting += [(branch, rows[states == k]) for k, branch in enumerate(node.branches)]
        return as_labels(list(self.target.states or ()))[found]

    def __repr__(self) -> str:
        return "\n".join(self._lines(self.root, 0))

    def _lines(self, node: Node, level: int) -> Iterator[str]:
        if node.attribute is None:
            yield f"{'  ' * level}{self._leaf(node)}"
            return
        variable = self.attributes[node.attribute]
        for state, branch in zip(variable.states or (), node.branches, strict=True):
            is_bin = str(state).startswith(("≤ ", "> "))
            test = f"{'  ' * level}{variable.name} {'' if is_bin else '= '}{state}"
            yield test if branch.branches else f"{test}: {self._leaf(branch)}"
            if branch.branches:
                yield from self._lines(branch, level + 1)

    def _leaf(self, node: Node) -> str:
        n = sum(node.counts)
        wrong = n - node.counts[node.label]
        exceptions = f", {wrong} exception{'' if wrong == 1 else 's'}" if wrong else ""
        return f"{(self.target.states or ())[node.label]} ({n}{exceptions})"


def choose_tree(X: object, y: object, *, max_depth: int = 20, patience: int = 3) -> DescriptionChoice:
    """Return the choice between decision trees for the classes of rows.

    Parameters
    ----------
    X : Table or any frame
        Categorical columns without missing values.
    y : array-like of shape (n_rows,), or str
        The classes, or the name of the column of X that holds them; the tree may test all other columns. Integers are
        classes too.
    max_depth : int
        The largest number of tests of a row, at most 100.
    patience : int
        How many tests in a row are tried that do not pay by themselves, because those below them may. Two attributes
        that only tell something together are found with 2. Larger values are slower.

    Returns
    -------
    DescriptionChoice
        The grown tree, cut off at "depth 0", "depth 1", …, and the shortest of all its prunings, "pruned", if it is
        none of them. Their ``model`` is a :class:`DecisionTree`.

    Examples
    --------
    Fourteen days are too few for a tree: it is shorter to say «yes», and which five days are exceptions.

    >>> import tunbridge as tb
    >>> from tunbridge.reasoning import choose_tree
    >>> days = tb.datasets.play_tennis()
    >>> print(choose_tree(days, "play"))
    hypothesis  L(h)     L(D | h)  total    above
    depth 0     2        13.9672   15.9672  0
    depth 1     9        11.3987   20.3987  4.43152
    depth 2     18.1699  5.58496   23.7549  7.78766

    With four times as many such days the tree pays:

    >>> choice = choose_tree(days.take([*range(14)] * 4), "play")
    >>> print(choice.model)
    outlook = Overcast: yes (16)
    outlook = Rain
      wind = Strong: no (8)
      wind = Weak: yes (12)
    outlook = Sunny
      humidity = High: no (12)
      humidity = Normal: yes (8)
    """
    check_integer("max_depth", max_depth, low=0)
    check_number("max_depth", max_depth, high=_DEEPEST)
    check_integer("patience", patience, low=1)
    table, labels = _checked(*split_target(X, y), in_table=isinstance(y, str))
    columns = tuple(table.codes(name) for name in table.names)
    coding = _Coding(table.variables, labels.variable.n_states)
    rows, left = np.arange(len(labels.values)), tuple(range(table.n_columns))
    trees = []
    for criterion in (_entropy, coding.leaves_bits):
        growth = _Growth(coding, columns, labels.values, criterion, int(patience))
        trees.append(growth.grown(rows, left, int(max_depth), int(patience), 0))
    pruned = [coding.pruned(tree, table.n_columns) for tree in trees]
    best = min(range(2), key=lambda i: sum(coding.lengths(pruned[i], table.n_columns)))
    roots = {f"depth {depth}": trees[best].cut_off(depth) for depth in range(trees[best].depth + 1)}
    if pruned[best] not in roots.values():
        roots["pruned"] = pruned[best]
    return shortest_description(
        [
            DescriptionLength(
                name, *coding.lengths(root, table.n_columns), DecisionTree(labels.variable, table.variables, root)
            )
            for name, root in roots.items()
        ]
    )


@dataclass(frozen=True)
class _Coding:
    """The code lengths of the parts of a tree."""

    attributes: tuple[Variable, ...]
    n_classes: int

    @property
    def leaf_bits(self) -> float:
        return 1.0 + math.log2(self.n_classes)

    def exception_bits(self, counts: np.ndarray) -> np.ndarray:
        """Return the bits of the exceptions at leaves with these counts of the classes, on the last axis."""
        n, r = counts.sum(axis=-1), self.n_classes
        wrong, most = n - counts.max(axis=-1), n - -(-n // r)
        return np.log2(most + 1.0) + log2_binomial(n, wrong) + wrong * math.log2(max(r - 1, 1))

    def leaves_bits(self, table: np.ndarray) -> float:
        """Return the bits of the branches of a test if they were leaves."""
        return len(table) * self.leaf_bits + float(self.exception_bits(table).sum())

    def lengths(self, node: Node, n_left: int) -> tuple[float, float]:
        """Return L(h) and L(D | h) of a part of a tree, above which all but ``n_left`` attributes were tested."""
        if node.attribute is None:
            return self.leaf_bits, float(self.exception_bits(np.array(node.counts)))
        parts = [self.lengths(branch, n_left - 1) for branch in node.branches]
        return 1.0 + math.log2(n_left) + sum(tree for tree, _ in parts), sum(data for _, data in parts)

    def pruned(self, node: Node, n_left: int) -> Node:
        """Return the shortest pruning of a tree."""
        if not node.branches:
            return node
        kept = replace(node, branches=tuple(self.pruned(branch, n_left - 1) for branch in node.branches))
        leaf = node.cut_off(0)
        return kept if sum(self.lengths(kept, n_left)) < sum(self.lengths(leaf, n_left)) else leaf


@dataclass(frozen=True)
class _Growth:
    """The rows that a tree grows from, and the bits of class that a test leaves, by which it is chosen."""

    coding: _Coding
    columns: tuple[np.ndarray, ...]
    classes: np.ndarray
    criterion: Callable[[np.ndarray], float]
    patience: int

    def grown(self, here: np.ndarray, left: tuple[int, ...], depth: int, patience: int, label: int) -> Node:
        """Return the tree of these rows with the remaining tests; without rows a leaf with the label from above."""
        coding = self.coding
        counts = np.bincount(self.classes[here], minlength=coding.n_classes)
        leaf = Node(tuple(counts.tolist()), int(counts.argmax()) if len(here) else label)
        as_leaf = sum(coding.lengths(leaf, 0))
        if not (depth and patience and left and as_leaf > self._shortest_test(left)):
            return leaf
        tables = {i: self._split(here, i) for i in left}
        useful = {i: table for i, table in tables.items() if (table.sum(axis=1) > 0).sum() > 1}
        if not useful:
            return leaf
        best = min(useful, key=lambda i: self.criterion(useful[i]))
        pays = 1.0 + math.log2(len(left)) + coding.leaves_bits(useful[best]) < as_leaf
        states, others = self.columns[best][here], tuple(i for i in left if i != best)
        below = others, depth - 1, self.patience if pays else patience - 1, leaf.label
        branches = [self.grown(here[states == k], *below) for k in range(len(useful[best]))]
        return replace(leaf, attribute=best, branches=tuple(branches))

    def _shortest_test(self, left: tuple[int, ...]) -> float:
        """Return the bits of the shortest tree with a test: branches without exceptions, as few as possible."""
        fewest = min(self.coding.attributes[i].n_states for i in left)
        return 1.0 + math.log2(len(left)) + fewest * self.coding.leaf_bits

    def _split(self, here: np.ndarray, attribute: int) -> np.ndarray:
        """Return the counts of the classes for each state of an attribute."""
        n_states, r = self.coding.attributes[attribute].n_states, self.coding.n_classes
        cells = self.columns[attribute][here].astype(np.intp) * r + self.classes[here]
        return np.bincount(cells, minlength=n_states * r).reshape(n_states, r)


def _entropy(table: np.ndarray) -> float:
    """Return the entropy of the classes after a test, times the number of rows: the least has the largest gain."""
    n = table.sum(axis=1)
    return float(xlogy(n, n).sum() - xlogy(table, table).sum())


def _checked(table: Table, target: Column, *, in_table: bool) -> tuple[Table, Column]:
    """Return categorical columns and classes without missing values."""
    if len(target.values) == 0:
        raise DataError("a tree needs rows; the table has none.")
    if table.weights is not None:
        raise DataError("the rows must not have weights. Use table.with_weights(None).")
    labels, name = _classes(target), target.variable.name
    numbers = [v.name for v in table.variables if v.is_continuous]
    if numbers:
        how = f"table, 'mdl', target={name!r}" if in_table else "X"
        are = f"{listed(numbers)} {'is' if len(numbers) == 1 else 'are'} continuous"
        raise DataError(
            f"the columns of a tree must be categorical; {are}. Discretise them: table, _ = tb.discretise({how})."
        )
    missing = [*table.missing, *([name] if (labels.values < 0).any() else [])]
    if missing:
        hint = "Take the complete rows, table.take(table.complete), or drop columns, table.drop([...])."
        raise DataError(f"a tree needs data without missing values; got some in {listed(missing)}. {hint}")
    return table, labels


def _classes(target: Column) -> Column:
    numbers = target.values if target.variable.is_continuous else np.empty(0)
    parts = numbers[np.isfinite(numbers) & (numbers != np.floor(numbers))]
    if parts.size:
        raise DataError(
            f"the target must be categorical; {target.variable.name!r} holds numbers such as {parts[0]:g}. Discretise "
            "them with tb.discretise, or give the classes as strings."
        )
    return as_classes(target)


# Network structures


def structure_description(
    dag: DAG, frame: object, *, arcs: bool = False, name: Hashable = "graph"
) -> DescriptionLength:
    """Return the bits of a network over a graph, and of the rows given the network.

    Parameters
    ----------
    dag : DAG
        A graph whose nodes are columns of the frame.
    frame : Table or any frame
        The data: categorical, without missing values. Other columns are ignored.
    arcs : bool
        Whether L(G) has log₂ n bits for each arc, n the number of nodes; without them the sum is −BIC/ln 2.
    name : hashable
        The name of the graph.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.reasoning import structure_description
    >>> table, dag = tb.datasets.play_tennis(), tb.DAG(arcs=[("outlook", "play")])
    >>> found = structure_description(dag, table)
    >>> found
    graph: 9.51839 + 31.7932 = 41.3116 bits
    >>> round(-tb.score_structure(dag, table, "bic") / math.log(2), 4)
    41.3116
    """
    return _described(name, _checked_dag(name, dag), network_table(frame), arcs=arcs)


def choose_structure(dags: object, frame: object, *, arcs: bool = False) -> DescriptionChoice:
    """Return the choice between graphs over the same columns.

    Parameters
    ----------
    dags : mapping of name to DAG, or sequence of DAG
        The graphs, all with the same nodes; those of a sequence are called "graph 1", "graph 2", …
    frame, arcs :
        As for :func:`structure_description`.

    Returns
    -------
    DescriptionChoice
        Its ``model`` is the graph.

    Examples
    --------
    >>> import tunbridge as tb
    >>> from tunbridge.reasoning import choose_structure
    >>> graphs = {"an arc": tb.DAG(arcs=[("outlook", "play")]), "no arc": tb.DAG(["outlook", "play"])}
    >>> print(choose_structure(graphs, tb.datasets.play_tennis()))
    hypothesis  L(h)     L(D | h)  total    above
    no arc      5.71103  35.2477   40.9587  0
    an arc      9.51839  31.7932   41.3116  0.352857
    """
    if isinstance(dags, Sequence) and not isinstance(dags, str):
        dags = {f"graph {i}": dag for i, dag in enumerate(dags, start=1)}
    if not isinstance(dags, Mapping):
        raise DataError(f"dags must be graphs by name, or a list of graphs; got {shortened(repr(dags))}.")
    named = {name: _checked_dag(name, dag) for name, dag in dags.items()}
    table, nodes = network_table(frame), set(next(iter(named.values())).nodes) if named else set()
    for name, dag in named.items():
        if set(dag.nodes) != nodes:
            differ = listed(sorted(set(dag.nodes) ^ nodes))
            raise DataError(f"the graphs must all have the same nodes; {name!r} and the first differ in {differ}.")
    return shortest_description([_described(name, dag, table, arcs=arcs) for name, dag in named.items()])


def _checked_dag(name: Hashable, dag: object) -> DAG:
    if not isinstance(dag, DAG):
        hint = " Use its .dag." if isinstance(dag, BayesianNetwork) else ""
        raise DataError(f"{name!r} must be a DAG; got {shortened(repr(dag))}.{hint}")
    return dag


def _described(name: Hashable, dag: DAG, table: Table, *, arcs: bool) -> DescriptionLength:
    log_likelihood = score_structure(dag, table, "loglik")
    bic = score_structure(dag, table, "bic")
    parameter_bits = max(0.0, log_likelihood - bic) / math.log(2)
    arc_bits = len(dag.arcs) * naming_bits(len(dag.nodes)) if arcs else 0.0
    return DescriptionLength(name, parameter_bits + arc_bits, max(0.0, -log_likelihood) / math.log(2), dag)
