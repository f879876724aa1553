"""Decision trees with exceptions by minimum description length.

Somebody knows the attributes of n rows, and is to be told their classes. One can tell a decision tree, and then the
rows in which it is wrong. A tree is told from its root down, branch by branch:

* one bit for each node: a leaf, or a test;
* for a test which of the attributes not yet tested above it, log₂ a bits where a of them are left;
* for a leaf its class, log₂ r bits with r classes.

At a leaf with m rows, k of them not of its class, the exceptions take

    log₂(b + 1) + log₂ C(m, k) + k log₂(r − 1)   bits,    b = m − ⌈m/r⌉,

their number, of which there are at most b because the class is the most frequent one, their places, and which class
each has instead. The tree is L(h), the exceptions are L(D | h).

The search grows a tree from the root, at each node by the test that tells most about the classes (information gain),
and goes on until no test can pay, or several in a row have not. Then, from the leaves up, every test that costs more
than it saves becomes a leaf: as lengths add up over branches, this finds the shortest of all prunings. As information
gain likes tests with many branches, a second tree is grown by the test that makes the description shortest if its
branches were leaves. The one whose pruning is shorter is kept.

References
----------
J. R. Quinlan, R. L. Rivest (1989). Inferring decision trees using the minimum description length principle. Information
and Computation 80, 227–248. (With two classes this is their code, but that they take b = (m + 1)/2.)

J. R. Quinlan (1986). Induction of decision trees. Machine Learning 1, 81–106. (Information gain.)

C. S. Wallace, J. D. Patrick (1993). Coding decision trees. Machine Learning 11, 7–22. (One bit for a node is more than
it takes where tests have three branches or more; the code stays a code.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from tunbridge._check import check_number, check_whole, listed
from tunbridge.data import Column, Table, Variable
from tunbridge.errors import DataError
from tunbridge.reasoning.description.code_lengths import log2_binomial
from tunbridge.reasoning.description.decision_tree import DecisionTree, Node
from tunbridge.reasoning.description.shortest import DescriptionChoice, DescriptionLength, shortest_description
from tunbridge.reasoning.targets import as_classes, split_target

_DEEPEST = 100


def choose_tree(X: Any, y: Any, *, max_depth: int = 20, patience: int = 3) -> DescriptionChoice:
    """Return the choice between decision trees for the classes of rows.

    Parameters
    ----------
    X : Table or any frame
        Categorical columns without missing cells.
    y : array-like of shape (n_rows,), or str
        The classes, or the name of the column of X that holds them; the tree may test all other columns. Whole numbers
        are classes too.
    max_depth : int
        How many tests a row may meet, at most 100.
    patience : int
        How many tests in a row are tried that do not pay by themselves, because those below them may. Two attributes
        of which neither tells anything alone, but both together do, are found with 2. The more, the slower.

    Returns
    -------
    DescriptionChoice
        The tree that was grown, cut off at "depth 0", "depth 1", …, and the shortest of all its prunings, "pruned",
        where that is none of them. Their ``model`` is a :class:`DecisionTree`.

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

    Of four times as many days like these the tree is worth telling:

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
    check_whole("max_depth", max_depth, low=0)
    check_number("max_depth", max_depth, high=_DEEPEST)
    check_whole("patience", patience, low=1)
    table, labels = _checked(*split_target(X, y), in_table=isinstance(y, str))
    rows = _Rows(tuple(table.codes(name) for name in table.names), labels.values)
    coding = _Coding(table.variables, labels.variable.n_states)
    growths = [_Growth(coding, rows, criterion, int(patience)) for criterion in (_bits_by_entropy, _bits_as_leaves)]
    start = np.arange(len(labels.values)), tuple(range(table.n_columns)), int(max_depth), int(patience), 0
    trees = [_grown(growth, *start) for growth in growths]
    grown = min(trees, key=lambda tree: coding.total(_pruned(coding, tree, table.n_columns), table.n_columns))
    return shortest_description(_candidates(coding, grown, labels.variable))


@dataclass(frozen=True)
class _Rows:
    attributes: tuple[np.ndarray, ...]
    classes: np.ndarray


@dataclass(frozen=True)
class _Coding:
    """What it costs to tell the parts of a tree."""

    attributes: tuple[Variable, ...]
    n_classes: int

    @property
    def leaf_bits(self) -> float:
        return 1.0 + math.log2(self.n_classes)

    def exception_bits(self, counts: np.ndarray) -> np.ndarray:
        """Return the bits of the exceptions at leaves with these counts of the classes, which are the last axis."""
        n, r = counts.sum(axis=-1), self.n_classes
        wrong, most = n - counts.max(axis=-1), n - -(-n // r)
        return np.log2(most + 1.0) + log2_binomial(n, wrong) + wrong * math.log2(max(r - 1, 1))

    def lengths(self, node: Node, n_left: int) -> tuple[float, float]:
        """Return L(h) and L(D | h) of a part of a tree, above which all but ``n_left`` attributes were tested."""
        if node.attribute is None:
            return self.leaf_bits, float(self.exception_bits(np.array(node.counts)))
        parts = [self.lengths(branch, n_left - 1) for branch in node.branches]
        return 1.0 + math.log2(n_left) + sum(tree for tree, _ in parts), sum(data for _, data in parts)

    def total(self, node: Node, n_left: int) -> float:
        return sum(self.lengths(node, n_left))


@dataclass(frozen=True)
class _Growth:
    """What a tree grows from, and how many bits of class a test leaves, by which it is chosen."""

    coding: _Coding
    rows: _Rows
    criterion: Callable[[_Coding, np.ndarray], float]
    patience: int


def _checked(table: Table, target: Column, *, in_table: bool) -> tuple[Table, Column]:
    """Return columns that have states, and the classes; raise for what a tree cannot be grown from."""
    if len(target.values) == 0:
        raise DataError("a tree must have rows to grow from; the table has none.")
    if table.weights is not None:
        raise DataError("the rows must have no weights: each is told once. Use table.with_weights(None).")
    labels, name = _classes(target), target.variable.name
    numbers = [v.name for v in table.variables if v.is_continuous]
    if numbers:
        how = f"table, 'mdl', target={name!r}" if in_table else "X"
        raise DataError(
            f"the columns of a tree must be categorical; {listed(numbers)} {'is' if len(numbers) == 1 else 'are'} "
            f"continuous. Cut them into intervals: table, _ = tb.discretise({how})."
        )
    missing = [*table.missing, *([name] if (labels.values < 0).any() else [])]
    if missing:
        hint = "Take the complete rows, table.take(table.complete), or leave columns out, table.drop([...])."
        raise DataError(f"the cells of a tree must be known; got missing ones in {listed(missing)}. {hint}")
    return table, labels


def _classes(target: Column) -> Column:
    """Return the classes; raise for numbers that are none."""
    numbers = target.values if target.variable.is_continuous else np.empty(0)
    parts = numbers[np.isfinite(numbers) & (numbers != np.floor(numbers))]
    if parts.size:
        raise DataError(
            f"the target must be categorical; {target.variable.name!r} holds numbers such as {parts[0]:g}. Cut them "
            "into intervals with tb.discretise, or give the classes as text."
        )
    return as_classes(target)


def _grown(growth: _Growth, here: np.ndarray, left: tuple[int, ...], depth: int, patience: int, label: int) -> Node:
    """Return the tree of these rows, by the tests that are left; without rows a leaf with the label from above."""
    coding, rows = growth.coding, growth.rows
    counts = np.bincount(rows.classes[here], minlength=coding.n_classes)
    leaf = Node(tuple(counts.tolist()), int(counts.argmax()) if len(here) else label)
    if not (depth and patience and _can_pay(coding, leaf, left)):
        return leaf
    tables = {i: _split(coding, rows, here, i) for i in left}
    useful = {i: table for i, table in tables.items() if (table.sum(axis=1) > 0).sum() > 1}
    if not useful:
        return leaf
    best = min(useful, key=lambda i: growth.criterion(coding, useful[i]))
    pays = 1.0 + math.log2(len(left)) + _bits_as_leaves(coding, useful[best]) < coding.total(leaf, 0)
    states, others = rows.attributes[best][here], tuple(i for i in left if i != best)
    below = others, depth - 1, growth.patience if pays else patience - 1, leaf.label
    branches = [_grown(growth, here[states == k], *below) for k in range(len(useful[best]))]
    return replace(leaf, attribute=best, branches=tuple(branches))


def _can_pay(coding: _Coding, leaf: Node, left: tuple[int, ...]) -> bool:
    """Return whether some tree may be shorter than the leaf: the shortest is one test with branches of one class."""
    if not left:
        return False
    fewest = min(coding.attributes[i].n_states for i in left)
    return coding.total(leaf, 0) > 1.0 + math.log2(len(left)) + fewest * coding.leaf_bits


def _split(coding: _Coding, rows: _Rows, here: np.ndarray, attribute: int) -> np.ndarray:
    """Return the counts of the classes for each state of an attribute."""
    n_states, r = coding.attributes[attribute].n_states, coding.n_classes
    cells = rows.attributes[attribute][here].astype(np.intp) * r + rows.classes[here]
    return np.bincount(cells, minlength=n_states * r).reshape(n_states, r)


def _bits_by_entropy(coding: _Coding, table: np.ndarray) -> float:
    """Return the entropy of the classes after a test, times the number of rows: the least has the largest gain."""
    n = table.sum(axis=1)
    return float(xlogy(n, n).sum() - xlogy(table, table).sum())


def _bits_as_leaves(coding: _Coding, table: np.ndarray) -> float:
    """Return the bits of the branches of a test if they were leaves."""
    return len(table) * coding.leaf_bits + float(coding.exception_bits(table).sum())


def _cut_off(node: Node, depth: int) -> Node:
    """Return the tree without its tests below a depth."""
    if not node.branches or depth == 0:
        return Node(node.counts, node.label)
    return replace(node, branches=tuple(_cut_off(branch, depth - 1) for branch in node.branches))


def _pruned(coding: _Coding, node: Node, n_left: int) -> Node:
    """Return the shortest pruning of a tree."""
    if not node.branches:
        return node
    kept = replace(node, branches=tuple(_pruned(coding, branch, n_left - 1) for branch in node.branches))
    leaf = Node(node.counts, node.label)
    return kept if coding.total(kept, n_left) < coding.total(leaf, n_left) else leaf


def _candidates(coding: _Coding, grown: Node, target: Variable) -> list[DescriptionLength]:
    roots = {f"depth {depth}": _cut_off(grown, depth) for depth in range(grown.depth + 1)}
    shortest = _pruned(coding, grown, len(coding.attributes))
    if shortest not in roots.values():
        roots["pruned"] = shortest
    return [
        DescriptionLength(
            name, *coding.lengths(root, len(coding.attributes)), DecisionTree(target, coding.attributes, root)
        )
        for name, root in roots.items()
    ]
