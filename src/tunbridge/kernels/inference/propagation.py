"""Kernels that run the program of a junction tree: exact propagation, most probable states, conditioning.

A clique never holds a table of its own. Its *inputs* are the potentials assigned to it, the messages of its children
and, on the way down, the message of its parent:

    up         message(c → parent) = Σ_residual Π inputs of c but the parent's
    down       message(c → child)  = Σ_rest Π all inputs of c  /  message(child → c)
    marginal   P(x_v, evidence)    = Σ_rest Π all inputs of the clique that eliminates v

(Jensen, Lauritzen and Olesen 1990). The inputs are multiplied in an order, fixed when the program is compiled, in which
the scope of the running product grows slowly, and the last factor is multiplied and summed in one go (``_contract``),
so the table of a whole clique is rarely written out.

Every input has a bound: none of its positive entries is below it. Where the product of the bounds of two factors is too
small, their entries are looked at, and where a product of entries might underflow, the run is marked (``SAFE``): the
caller repeats it with :mod:`tunbridge.inference.array_propagation`.

All tables have their axes in the order of elimination, first eliminated outermost, so that the separator to the parent
is the inner, contiguous part of every clique, and the *lanes* (rows of a batch) are the innermost axis of all. A
variable observed in every lane has an axis of length one: evidence makes all tables smaller. Other evidence (soft, or
in some lanes only) is multiplied into one potential of the variable while that is copied.

The records have few arrays, integers as rows of a table with named columns: numba counts references for every array of
a tuple at every call (20 arrays: 240 ns, 5 arrays: 55 ns). For the same reason helpers are inlined. Records of numbers
cost nothing.
"""

from typing import NamedTuple

import numpy as np

from tunbridge.kernels.caching import njit

# Columns of Program.variables: number of states, the clique that eliminates the variable, the potential that takes up
# its soft evidence, and where its states begin in an array over all states. (A Python int would be a type of its own to
# numba, and every function that gets one would be compiled once for each.)
N_STATES, HOME, OWN, STATES = np.int64(0), np.int64(1), np.int64(2), np.int64(3)

# Columns of Program.potentials: where scope (in members) and table begin. The last row holds the ends.
SCOPE, TABLE = np.int64(0), np.int64(1)

# Columns of Program.cliques: where its variables (in members) begin; how many of them, the residual, are eliminated in
# it (the others are the separator); the parent, or −1; where its message begins; whether the marginals of the residual
# are read from its joint table; where its inputs begin. The last row holds the ends.
MEMBERS, N_RESIDUAL, PARENT, MESSAGE, JOINTLY, INPUTS = (
    np.int64(0), np.int64(1), np.int64(2), np.int64(3), np.int64(4), np.int64(5)
)  # fmt: skip

# Columns of Program.inputs: a potential, n_potentials + a child, or n_potentials + n_cliques, the parent; where its
# axes (in members) begin; and, counted within the clique, the input that is multiplied at this place on the way up, and
# on the way down, and the input whose separator holds that of this child too (−1: the clique itself).
SOURCE, AXES, UP, DOWN, VIA = np.int64(0), np.int64(1), np.int64(2), np.int64(3), np.int64(4)

# The first entries of the buffer: a table without axes; whether no product underflowed; and from BOUNDS on the bounds
# of the potentials, of the messages up, and of those down.
UNIT, SAFE, BOUNDS = np.int64(0), np.int64(1), np.int64(2)

ASSIGN, ADD, MAXIMISE = np.int64(0), np.int64(1), np.int64(2)

# Rows of _Workspace.axes: the length of each axis of the present clique, the lanes last; which of the two factors of
# its product have the axis, and which tables of a contraction, as sums of IN_A, IN_B and IN_O; and counters behind.
LENGTHS, FACTORS, MARKS, COUNTERS = np.int64(0), np.int64(1), np.int64(2), np.int64(3)
IN_A, IN_B, IN_O = np.int64(1), np.int64(2), np.int64(4)

_TOO_SMALL = 1e-290  # what may be smaller is not trusted
_COMMON = 1e-30  # entries below are rare


class Program(NamedTuple):
    """A compiled junction tree, cliques in the order of elimination: children before parents.

    Parameters
    ----------
    variables, potentials, cliques, inputs : int64 arrays, one row each, with the columns above
        The parts of the tree.
    members : int64 array
        Scopes of potentials in the order of elimination, variables of cliques, and axes of inputs.
    sizes : int64 array
        Entries of: potentials, messages, copied potentials, scratch, product, other product, marginals, bounds.
    """

    variables: np.ndarray
    potentials: np.ndarray
    cliques: np.ndarray
    inputs: np.ndarray
    members: np.ndarray
    sizes: np.ndarray


class Evidence(NamedTuple):
    """Evidence of several lanes.

    Parameters
    ----------
    codes : int64 array of shape (n_variables, lanes)
        The observed state, −1 where there is none.
    likelihoods : float64 array of shape (n_states of all variables, lanes)
        Read for the variables that ``is_soft`` marks; space to write for those observed in some lanes only.
    is_soft : int64 array of shape (n_variables,)
        Whether a variable has likelihoods.
    """

    codes: np.ndarray
    likelihoods: np.ndarray
    is_soft: np.ndarray


class Layout(NamedTuple):
    """Where the parts of the buffer begin, which holds all doubles that a run reads and writes.

    All but the potentials have room for every lane. Behind ``end`` there may be room for a joint table.
    """

    potentials: int
    log_evidence: int
    marginals: int
    up: int
    down: int
    copies: int
    scratch: int
    product: int
    other_product: int
    end: int


class _Workspace(NamedTuple):
    """The layout of the buffer, and the arrays of a run.

    Parameters
    ----------
    at : Layout
        Where the parts of the buffer begin.
    x : float64 array
        The buffer.
    extents : int64 array
        The length of each variable's axis: 1 where it is observed in every lane.
    touched : int64 array
        Whether evidence changes a potential, so that it is copied.
    places, held : int64 arrays of shapes (n_inputs,) and (n_inputs, n_axes)
        Where the inputs of the present clique lie in the buffer, and which of its axes each has.
    bounds : float64 array of shape (n_inputs,)
        The bounds of these inputs.
    axes : int64 array of shape (8, n_axes), with the rows above
        The axes of the present clique.
    """

    at: Layout
    x: np.ndarray
    extents: np.ndarray
    touched: np.ndarray
    places: np.ndarray
    held: np.ndarray
    bounds: np.ndarray
    axes: np.ndarray


class _Product(NamedTuple):
    """The inputs of a clique multiplied: its number, how many axes it has, and where product and last input lie."""

    clique: int
    n_axes: int
    a: int
    b: int


class _Places(NamedTuple):
    """Where the factors a and b and the result o lie, or how far the next run of each is."""

    a: int
    b: int
    o: int


class _Loops(NamedTuple):
    """The innermost loops of a contraction: an operation, one of the cases of ``_combine``, n entries, m times."""

    op: int
    case: int
    n: int
    m: int


@njit(cache=True, nogil=True)
def layout(sizes, lanes):
    """Return the layout of the buffer for the sizes of a program."""
    potentials = BOUNDS + sizes[7]
    log_evidence = potentials + sizes[0]
    marginals = log_evidence + lanes
    up = marginals + sizes[6] * lanes
    down = up + sizes[1] * lanes
    copies = down + sizes[1] * lanes
    scratch = copies + sizes[2] * lanes
    product = scratch + sizes[3] * lanes
    other_product = product + sizes[4] * lanes
    end = other_product + sizes[5] * lanes
    return Layout(potentials, log_evidence, marginals, up, down, copies, scratch, product, other_product, end)


@njit(cache=True, nogil=True)
def load_potentials(program, scopes, tables, x):
    """Write the potentials into the buffer, their axes in the order of elimination, and their bounds.

    ``scopes`` holds the variables of each potential in the order of the axes that its table has now.
    """
    variables, potentials, members, first = (
        program.variables, program.potentials, program.members, BOUNDS + program.sizes[7],
    )  # fmt: skip
    n_axes = 1
    for f in range(potentials.shape[0] - 1):
        n_axes = max(n_axes, potentials[f + 1, SCOPE] - potentials[f, SCOPE])
    extents, strides, at = np.empty(n_axes, np.int64), np.empty(n_axes, np.int64), np.empty(n_axes, np.int64)
    stride_of = np.empty(variables.shape[0], np.int64)
    x[UNIT] = 1.0
    for f in range(potentials.shape[0] - 1):
        low, k, stride = potentials[f, SCOPE], potentials[f + 1, SCOPE] - potentials[f, SCOPE], 1
        for i in range(low + k - 1, low - 1, -1):
            stride_of[scopes[i]] = stride
            stride *= variables[scopes[i], N_STATES]
        for i in range(k):
            v = members[low + i]
            extents[i], strides[i], at[i] = variables[v, N_STATES], stride_of[v], 0
        read, bound = potentials[f, TABLE], 1.0
        for write in range(first + potentials[f, TABLE], first + potentials[f + 1, TABLE]):
            x[write] = tables[read]
            bound = tables[read] if 0.0 < tables[read] < bound else bound
            for i in range(k - 1, -1, -1):
                at[i] += 1
                read += strides[i]
                if at[i] < extents[i]:
                    break
                read -= at[i] * strides[i]
                at[i] = 0
        x[BOUNDS + f] = bound


# Products of two tables


def _make_sums(length):
    """Return the innermost loops for runs of a fixed length, which are unrolled, or (0) of any.

    Offsets are unsigned: a negative index would count from the end, and the test for it keeps loops from being vectors.
    """

    @njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
    def combine(x, loops, first, step):
        op, case, m = loops.op, loops.case, loops.m
        a, b, o = np.uint64(first.a), np.uint64(first.b), np.uint64(first.o)
        a1, b1, o1 = np.uint64(step.a), np.uint64(step.b), np.uint64(step.o)
        n = np.uint64(length) if length else np.uint64(loops.n)
        if case == 0 and op == ASSIGN:
            for _ in range(m):
                for i in range(n):
                    x[o + i] = x[a + i] * x[b + i]
                a, b, o = a + a1, b + b1, o + o1
        elif case == 0 and op == ADD:
            for _ in range(m):
                for i in range(n):
                    x[o + i] += x[a + i] * x[b + i]
                a, b, o = a + a1, b + b1, o + o1
        elif case == 1 and op == ASSIGN:
            for _ in range(m):
                factor = x[b]
                for i in range(n):
                    x[o + i] = x[a + i] * factor
                a, b, o = a + a1, b + b1, o + o1
        elif case == 1 and op == ADD:
            for _ in range(m):
                factor = x[b]
                for i in range(n):
                    x[o + i] += x[a + i] * factor
                a, b, o = a + a1, b + b1, o + o1
        elif case == 3 and op == ADD:
            for _ in range(m):
                found = 0.0
                for i in range(n):
                    found += x[a + i] * x[b + i]
                x[o] += found
                a, b, o = a + a1, b + b1, o + o1
        elif case == 4 and op == ADD:
            for _ in range(m):
                found = 0.0
                for i in range(n):
                    found += x[a + i]
                x[o] += found * x[b]
                a, b, o = a + a1, b + b1, o + o1

    return combine


_sums, _sums_2, _sums_3, _sums_4 = _make_sums(0), _make_sums(2), _make_sums(3), _make_sums(4)


@njit(cache=True, nogil=True)
def _rare(x, loops, first, step):
    """The innermost loops for maxima, and for runs that only the result has."""
    (op, case, n, m), (a, b, o) = loops, first
    step_a, step_b = 1 * (case != 2), 1 * (case == 0 or case == 3)
    for _ in range(m):
        if case >= 3:
            found = 0.0
            for i in range(n):
                found = max(found, x[a + i] * x[b + i * step_b])
            x[o] = max(x[o], found)
        elif op == MAXIMISE:
            for i in range(n):
                x[o + i] = max(x[o + i], x[a + i * step_a] * x[b + i * step_b])
        elif op == ADD:
            for i in range(n):
                x[o + i] += x[a] * x[b]
        else:
            for i in range(n):
                x[o + i] = x[a] * x[b]
        a, b, o = a + step.a, b + step.b, o + step.o


@njit(cache=True, nogil=True)
def _combine(x, loops, first, step):
    """Combine runs of n entries, m times; ∘ is the operation on the present entry and the product.

    Case 0: o[i] ∘ a[i] b[i], 1: o[i] ∘ a[i] b, 2: o[i] ∘ a b, 3: o ∘ Σ a[i] b[i], 4: o ∘ b Σ a[i].
    """
    if loops.op == MAXIMISE or loops.case == 2:
        _rare(x, loops, first, step)
    elif loops.n == 2:
        _sums_2(x, loops, first, step)
    elif loops.n == 3:
        _sums_3(x, loops, first, step)
    elif loops.n == 4:
        _sums_4(x, loops, first, step)
    else:
        _sums(x, loops, first, step)


@njit(cache=True, nogil=True)
def _contract(op, x, axes, n_axes, places):
    """Fill table o with the product of tables a and b, summed (or maximised) over the axes that o lacks.

    The tables are compact and have their axes in the same order, so neighbouring axes with equal marks are one. Returns
    the number of entries of o.
    """
    lengths, marks, count, stride_a, stride_b, stride_o, at = (
        axes[LENGTHS], axes[MARKS], axes[COUNTERS], axes[COUNTERS + 1], axes[COUNTERS + 2], axes[COUNTERS + 3],
        axes[COUNTERS + 4],
    )  # fmt: skip
    a, b, o = places
    k, size_a, size_b, size_o, reduces = 0, 1, 1, 1, False
    last = -1
    for j in range(n_axes - 1, -1, -1):
        e, here = lengths[j], marks[j]
        if e == 1 or here == 0:
            continue
        reduces = reduces or here < IN_O
        if here == last:
            count[k - 1] *= e
        else:
            count[k] = e
            stride_a[k] = size_a if here & IN_A else 0
            stride_b[k] = size_b if here & IN_B else 0
            stride_o[k] = size_o if here & IN_O else 0
            k += 1
            last = here
        if here & IN_A:
            size_a *= e
        if here & IN_B:
            size_b *= e
        if here & IN_O:
            size_o *= e
    if reduces:
        for i in range(np.uint64(o), np.uint64(o + size_o)):
            x[i] = 0.0
    else:
        op = ASSIGN
    if k == 0:
        x[o] = x[a] * x[b]
        return 1
    if stride_a[0] == 0:  # the first factor is the one that runs, where only one does
        a, b = b, a
        stride_a, stride_b = stride_b, stride_a
    if stride_o[0] == 1:
        case = 2 if stride_a[0] == 0 else (0 if stride_b[0] == 1 else 1)
    else:
        case = 3 if stride_b[0] == 1 else 4
    if k == 1:
        step = _Places(stride_a[0], stride_b[0], stride_o[0])
        _combine(x, _Loops(op, case, count[0], np.int64(1)), _Places(a, b, o), step)
        return size_o
    loops, step = _Loops(op, case, count[0], count[1]), _Places(stride_a[1], stride_b[1], stride_o[1])
    for i in range(2, k):
        at[i] = 0
    while True:
        _combine(x, loops, _Places(a, b, o), step)
        i = 2
        while i < k:
            at[i] += 1
            a += stride_a[i]
            b += stride_b[i]
            o += stride_o[i]
            if at[i] < count[i]:
                break
            a -= at[i] * stride_a[i]
            b -= at[i] * stride_b[i]
            o -= at[i] * stride_o[i]
            at[i] = 0
            i += 1
        if i == k:
            return size_o


@njit(cache=True, nogil=True)
def _scale(x, start, size, lanes, log_scale):
    """Divide every lane of a table by its sum, and add the logarithm of that; 0 stays 0."""
    step = np.uint64(lanes)
    for lane in range(lanes):
        first, last = np.uint64(start + lane), np.uint64(start + size * lanes)
        found = 0.0
        for i in range(first, last, step):
            found += x[i]
        log_scale[lane] += np.log(found)
        if found > 0.0 and found != 1.0:
            for i in range(first, last, step):  # a reciprocal of what is nearly 0 would be infinite
                x[i] /= found


@njit(cache=True, nogil=True)
def _divide(x, message, up, size, lanes):
    """Turn a belief into the message to a child: divide by the child's own message (0 / 0 = 0), and scale."""
    message, up, step = np.uint64(message), np.uint64(up), np.uint64(lanes)
    for lane in range(lanes):
        first, last = np.uint64(lane), np.uint64(size * lanes)
        total = 0.0
        for i in range(first, last, step):
            x[message + i] = x[message + i] / x[up + i] if x[up + i] > 0.0 else 0.0
            total += x[message + i]
        if total > 0.0:
            for i in range(first, last, step):
                x[message + i] /= total


@njit(cache=True, nogil=True)
def _bound(x, start, size):
    """Return a number that no positive entry of a table is below: the least of them, at most _COMMON."""
    first, last, is_small, found = np.uint64(start), np.uint64(start + size), False, _COMMON
    for i in range(first, last):  # this is a loop over vectors, the next is not, and is rarely needed
        is_small |= (x[i] > 0.0) & (x[i] < _COMMON)
    if is_small:
        for i in range(first, last):
            found = min(found, x[i] if x[i] > 0.0 else 1.0)
    return found


# The inputs of a clique


@njit(cache=True, nogil=True)
def _workspace(program, x, lanes):
    """Return the layout and the arrays of a run."""
    cliques, potentials = program.cliques, program.potentials
    n_potentials, widest, most_inputs = potentials.shape[0] - 1, 1, 1
    for c in range(cliques.shape[0] - 1):
        widest = max(widest, cliques[c + 1, MEMBERS] - cliques[c, MEMBERS])
        most_inputs = max(most_inputs, cliques[c + 1, INPUTS] - cliques[c, INPUTS])
    for f in range(n_potentials):
        widest = max(widest, potentials[f + 1, SCOPE] - potentials[f, SCOPE])
    widest += 1
    return _Workspace(
        layout(program.sizes, lanes), x, np.empty(program.variables.shape[0], np.int64),
        np.empty(n_potentials, np.int64), np.empty(most_inputs, np.int64), np.empty((most_inputs, widest), np.int64),
        np.empty(most_inputs), np.empty((8, widest), np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _apply_evidence(program, evidence, space):
    """Find the axes that evidence leaves, make evidence of some lanes soft, and mark the potentials it changes."""
    variables, potentials, (codes, likelihoods, is_soft) = program.variables, program.potentials, evidence
    lanes = codes.shape[1]
    for v in range(variables.shape[0]):
        n_observed = 0
        for lane in range(lanes):
            n_observed += codes[v, lane] >= 0
        space.extents[v] = 1 if n_observed == lanes else variables[v, N_STATES]
        if 0 < n_observed < lanes:
            is_soft[v] = 1
            for lane in range(lanes):
                code = codes[v, lane]
                for k in range(variables[v, N_STATES]):
                    likelihoods[variables[v, STATES] + k, lane] = 1.0 if code < 0 or code == k else 0.0
    for f in range(space.touched.shape[0]):
        space.touched[f] = 0
        for i in range(potentials[f, SCOPE], potentials[f + 1, SCOPE]):
            v = program.members[i]
            is_short = space.extents[v] == 1 and variables[v, N_STATES] > 1
            if is_short or (is_soft[v] and variables[v, OWN] == f):
                space.touched[f] = 1


@njit(cache=True, nogil=True)
def _copy_potential(program, evidence, space, f, read, write):
    """Copy what the evidence leaves of a potential, one entry for every free configuration and lane."""
    variables, x, extents = program.variables, space.x, space.extents
    codes, likelihoods, is_soft = evidence
    scope = program.members[program.potentials[f, SCOPE] : program.potentials[f + 1, SCOPE]]
    count, stride, at = space.axes[COUNTERS], space.axes[COUNTERS + 1], space.axes[COUNTERS + 2]
    lanes = codes.shape[1]
    k, size, total, softened, soft_axis = 0, 1, 1, -1, -1
    for i in range(scope.shape[0] - 1, -1, -1):
        v = scope[i]
        if extents[v] > 1:
            count[k], stride[k], at[k] = extents[v], size, 0
            if variables[v, OWN] == f and is_soft[v]:
                softened, soft_axis = v, k
            total *= extents[v]
            k += 1
        size *= variables[v, N_STATES]
    for lane in range(lanes):
        offset, size, factor = read, 1, 1.0
        for i in range(scope.shape[0] - 1, -1, -1):
            v = scope[i]
            if extents[v] == 1:
                offset += max(codes[v, lane], 0) * size
                if variables[v, OWN] == f and is_soft[v]:  # soft evidence about a variable of one state
                    factor *= likelihoods[variables[v, STATES], lane]
            size *= variables[v, N_STATES]
        for entry in range(total):
            likelihood = factor
            if softened >= 0:
                likelihood *= likelihoods[variables[softened, STATES] + at[soft_axis], lane]
            x[write + entry * lanes + lane] = x[offset] * likelihood
            if likelihood < 1.0 and x[offset] * likelihood < _TOO_SMALL and x[offset] > 0.0 and likelihood > 0.0:
                x[SAFE] = 0.0
            for i in range(k):
                at[i] += 1
                offset += stride[i]
                if at[i] < count[i]:
                    break
                offset -= at[i] * stride[i]
                at[i] = 0
    return total * lanes


@njit(cache=True, nogil=True, inline="always")
def _open_clique(program, evidence, space, c):
    """Find the lengths of a clique's axes and where its inputs lie; copy the potentials that evidence changes.

    Returns the number of axes, lanes included.
    """
    cliques, inputs, members, at = program.cliques, program.inputs, program.members, space.at
    n_cliques, n_potentials = cliques.shape[0] - 1, space.touched.shape[0]
    first, lanes = cliques[c, MEMBERS], evidence.codes.shape[1]
    n_axes = cliques[c + 1, MEMBERS] - first + 1
    for j in range(n_axes - 1):
        space.axes[LENGTHS, j] = space.extents[members[first + j]]
    space.axes[LENGTHS, n_axes - 1] = lanes
    write = at.copies
    for k in range(cliques[c + 1, INPUTS] - cliques[c, INPUTS]):
        i = cliques[c, INPUTS] + k
        source, held = inputs[i, SOURCE], space.held[k]
        for j in range(n_axes):
            held[j] = j == n_axes - 1
        for j in range(inputs[i, AXES], inputs[i + 1, AXES]):
            held[members[j]] = 1
        if source >= n_potentials:
            child = source - n_potentials
            message = at.up + cliques[child, MESSAGE] * lanes
            space.places[k] = message if child < n_cliques else at.down + cliques[c, MESSAGE] * lanes
            space.bounds[k] = space.x[BOUNDS + source + (0 if child < n_cliques else c)]
            continue
        held[n_axes - 1] = space.touched[source]
        space.places[k] = at.potentials + program.potentials[source, TABLE]
        space.bounds[k] = space.x[BOUNDS + source]
        if space.touched[source]:
            size = _copy_potential(program, evidence, space, source, space.places[k], write)
            space.places[k], space.bounds[k] = write, _bound(space.x, write, size)
            write += size
    return n_axes


@njit(cache=True, nogil=True, inline="always")
def _multiply_inputs(space, n_axes, order):
    """Multiply all inputs but the last; return where the product and the last input lie. FACTORS marks their axes.

    To scale a product that becomes small would not do: that keeps it from vanishing, but not one state beside another,
    and that could not come back.
    """
    x, places, held, factors, marks = space.x, space.places, space.held, space.axes[FACTORS], space.axes[MARKS]
    a, free, other, bound, size = UNIT, space.at.product, space.at.other_product, 1.0, 0
    for j in range(n_axes):
        factors[j] = IN_A * held[order[0], j] if order.shape[0] > 1 else 0
    if order.shape[0] > 1:
        a, bound = places[order[0]], space.bounds[order[0]]
    for t in range(1, order.shape[0]):
        if bound * space.bounds[order[t]] < _TOO_SMALL:
            bound = _bound(x, a, size) if t > 1 else bound
            x[SAFE] *= bound * space.bounds[order[t]] >= _TOO_SMALL
        bound *= space.bounds[order[t]]
        if t == order.shape[0] - 1:
            break
        factor = held[order[t]]
        grows = False  # by the axes alone, whatever their lengths: so the compiler placed the products
        for j in range(n_axes):
            is_lane = j == n_axes - 1
            has = factors[j] | factor[j] | is_lane
            grows = grows or (has > factors[j] and not is_lane)
            marks[j] = factors[j] + IN_B * factor[j] + IN_O * has
            factors[j] = has
        o = a if t > 1 and not grows else free
        size = _contract(ASSIGN, x, space.axes, n_axes, _Places(a, places[order[t]], o))
        if o == free:
            free, other = other, free
        a = o
    for j in range(n_axes):
        factors[j] += IN_B * held[order[-1], j]
    return a, places[order[-1]]


# Messages


@njit(cache=True, nogil=True, inline="always")
def _order_up(program, c):
    """Return the inputs of a clique but for its parent's, in the order in which they are multiplied."""
    low, high = program.cliques[c, INPUTS], program.cliques[c + 1, INPUTS]
    return program.inputs[low : high - (program.cliques[c, PARENT] >= 0), UP]


@njit(cache=True, nogil=True, inline="always")
def _multiply_clique(program, evidence, space, c, is_down):
    """Return the product of the inputs of a clique, on the way down with its parent's."""
    n_axes = _open_clique(program, evidence, space, c)
    low, high = program.cliques[c, INPUTS], program.cliques[c + 1, INPUTS]
    order = program.inputs[low:high, DOWN] if is_down else _order_up(program, c)
    a, b = _multiply_inputs(space, n_axes, order)
    return _Product(c, n_axes, a, b)


@njit(cache=True, nogil=True, inline="always")
def _sum_product(op, space, product, o):
    """Fill table o, whose axes MARKS has, with the sum (or maximum) of a product over the other axes."""
    marks, factors = space.axes[MARKS], space.axes[FACTORS]
    for j in range(product.n_axes):
        marks[j] = factors[j] + IN_O * marks[j]
    return _contract(op, space.x, space.axes, product.n_axes, _Places(product.a, product.b, o))


@njit(cache=True, nogil=True)
def _collect(program, evidence, space, is_maximised, log_scale):
    """Send the messages up, each the sum (or the maximum) over what its clique eliminates; add up their scales.

    Variables that are maximised are eliminated after the others, in cliques of their own.
    """
    cliques, lanes, marks = program.cliques, evidence.codes.shape[1], space.axes[MARKS]
    space.x[SAFE], bounds = 1.0, BOUNDS + space.touched.shape[0]
    _apply_evidence(program, evidence, space)
    for c in range(cliques.shape[0] - 1):
        product = _multiply_clique(program, evidence, space, c, False)
        for j in range(product.n_axes):
            marks[j] = j >= cliques[c, N_RESIDUAL]
        op = MAXIMISE if is_maximised[program.members[cliques[c, MEMBERS]]] else ADD
        message = space.at.up + cliques[c, MESSAGE] * lanes
        size = _sum_product(op, space, product, message)
        _scale(space.x, message, size // lanes, lanes, log_scale)
        space.x[bounds + c] = _bound(space.x, message, size)


@njit(cache=True, nogil=True)
def _needed_cliques(program, wanted, joint):
    """Mark the cliques that the way down has to pass: those that eliminate a wanted variable, and all above them."""
    variables, cliques = program.variables, program.cliques
    needed = np.zeros(cliques.shape[0], np.int64)
    if joint.shape[0] > 0:
        needed[variables[joint[0], HOME]] = 1
    for v in range(variables.shape[0]):
        if wanted[v]:
            needed[variables[v, HOME]] = 1
    for c in range(cliques.shape[0] - 1):
        if needed[c] and cliques[c, PARENT] >= 0:
            needed[cliques[c, PARENT]] = 1
    return needed


@njit(cache=True, nogil=True, inline="always")
def _send_down(program, space, product, needed):
    """Send the messages of a clique to the children that are needed, from its product."""
    c, n_axes, at, axes = product.clique, product.n_axes, space.at, space.axes
    inputs, first, n_potentials = program.inputs, program.cliques[c, INPUTS], space.touched.shape[0]
    n_cliques, lanes = program.cliques.shape[0] - 1, axes[LENGTHS, n_axes - 1]
    for k in range(program.cliques[c + 1, INPUTS] - first):
        child = inputs[first + k, SOURCE] - n_potentials
        if not 0 <= child < n_cliques or not needed[child]:
            continue
        up, via = space.places[k], inputs[first + k, VIA]
        down, bounds = up - at.up + at.down, BOUNDS + n_potentials + n_cliques
        if via >= 0 and needed[inputs[first + via, SOURCE] - n_potentials]:  # its belief is message up · message down
            wide, bound = space.places[via], space.x[bounds + inputs[first + via, SOURCE] - n_potentials]
            space.x[SAFE] *= space.bounds[via] * bound >= _TOO_SMALL
            for j in range(n_axes):
                axes[MARKS, j] = (IN_A + IN_B) * space.held[via, j] + IN_O * space.held[k, j]
            size = _contract(ADD, space.x, axes, n_axes, _Places(wide, wide - at.up + at.down, down))
        else:
            for j in range(n_axes):
                axes[MARKS, j] = space.held[k, j]
            size = _sum_product(ADD, space, product, down)
        _divide(space.x, down, up, size // lanes, lanes)
        space.x[bounds + child] = _bound(space.x, down, size)


@njit(cache=True, nogil=True, inline="always")
def _write_marginals(program, evidence, space, product, wanted, unused):
    """Write the marginals of the wanted variables that are eliminated in a clique, from its product."""
    c, n_axes, x, marks = product.clique, product.n_axes, space.x, space.axes[MARKS]
    variables, residual, lanes = program.variables, program.cliques[c, N_RESIDUAL], space.axes[LENGTHS, n_axes - 1]
    if program.cliques[c, JOINTLY]:
        for j in range(n_axes):
            marks[j] = j < residual or j == n_axes - 1
        _sum_product(ADD, space, product, space.at.scratch)
        product = _Product(c, n_axes, space.at.scratch, UNIT)
        for j in range(n_axes):
            space.axes[FACTORS, j] = IN_A * (j < residual or j == n_axes - 1)
    for i in range(residual):
        v = program.members[program.cliques[c, MEMBERS] + i]
        if not wanted[v]:
            continue
        write = space.at.marginals + variables[v, STATES] * lanes
        if space.extents[v] == 1:
            for k in range(variables[v, N_STATES]):
                for lane in range(lanes):
                    x[write + k * lanes + lane] = 1.0 if k == max(evidence.codes[v, lane], 0) else 0.0
            continue
        for j in range(n_axes):
            marks[j] = j == i or j == n_axes - 1
        _sum_product(ADD, space, product, write)
        _scale(x, write, variables[v, N_STATES], lanes, unused)


@njit(cache=True, nogil=True, inline="always")
def _write_joint(program, space, product, joint, unused):
    """Write the joint table of variables of a clique behind the end of the buffer, from its product."""
    marks, last, end = space.axes[MARKS], product.n_axes - 1, space.at.end
    for j in range(last):
        marks[j] = 0
        for v in joint:
            marks[j] |= program.members[program.cliques[product.clique, MEMBERS] + j] == v
    marks[last] = 1
    lanes, size = space.axes[LENGTHS, last], _sum_product(ADD, space, product, end)
    _scale(space.x, end, size // lanes, lanes, unused)


@njit(cache=True, nogil=True)
def propagate(program, x, evidence, wanted, joint):
    """Compute the logarithm of the probability of the evidence, and the marginals of the wanted variables.

    Both are written to the buffer x, and are valid if ``x[SAFE]`` is 1; a lane of impossible evidence gets −∞. The
    variables of ``joint``, in the order of elimination, have their joint table written behind the end of the layout;
    they must stand in the home clique of the first of them.
    """
    cliques, lanes = program.cliques, evidence.codes.shape[1]
    space, unused = _workspace(program, x, lanes), np.zeros(lanes)
    log_evidence = x[space.at.log_evidence : space.at.marginals]
    log_evidence[:] = 0.0
    _collect(program, evidence, space, np.zeros(program.variables.shape[0], np.int64), log_evidence)
    needed = _needed_cliques(program, wanted, joint)
    joint_clique = program.variables[joint[0], HOME] if joint.shape[0] > 0 else -1
    for c in range(cliques.shape[0] - 2, -1, -1):
        if not needed[c]:
            continue
        product = _multiply_clique(program, evidence, space, c, True)
        _send_down(program, space, product, needed)
        if c == joint_clique:
            _write_joint(program, space, product, joint, unused)
        _write_marginals(program, evidence, space, product, wanted, unused)


# Most probable states, conditioning


@njit(cache=True, nogil=True, inline="always")
def _input_entry(program, space, c, i, chosen, strides):
    """Return where input i of clique c has its entry for the chosen states, and set the stride of each of c's axes.

    A potential is read where it lies, with all its axes; a message has the axes that the evidence left.
    """
    inputs, variables, first = program.inputs, program.variables, program.cliques[c, MEMBERS]
    source, n_potentials = inputs[i, SOURCE], program.potentials.shape[0] - 1
    is_potential = source < n_potentials
    if is_potential:
        entry = space.at.potentials + program.potentials[source, TABLE]
    else:
        entry = space.at.up + program.cliques[source - n_potentials, MESSAGE]
    for j in range(strides.shape[0]):
        strides[j] = 0
    stride = 1
    for j in range(inputs[i + 1, AXES] - 1, inputs[i, AXES] - 1, -1):
        axis = program.members[j]
        v = program.members[first + axis]
        extent = variables[v, N_STATES] if is_potential else space.extents[v]
        if extent > 1:
            strides[axis] = stride
            entry += max(chosen[v], 0) * stride
            stride *= extent
    return entry


@njit(cache=True, nogil=True, inline="always")
def _choose_residual(program, evidence, space, c, chosen):
    """Set the residual variables of clique c to the states at which the product of its inputs is largest.

    The messages are sent, so the workspace is free: it takes the entries and the strides of the inputs.
    """
    entries, strides = space.places, space.held
    first, residual = program.cliques[c, MEMBERS], program.cliques[c, N_RESIDUAL]
    residents, order, low = program.members[first : first + residual], _order_up(program, c), program.cliques[c, INPUTS]
    states, best, softened = np.zeros(residual, np.int64), np.zeros(residual, np.int64), np.zeros(residual, np.int64)
    for t in range(order.shape[0]):
        i = low + order[t]
        entries[t] = _input_entry(program, space, c, i, chosen, strides[t])
        for j in range(residual):
            is_own = program.inputs[i, SOURCE] == program.variables[residents[j], OWN]
            softened[j] |= evidence.is_soft[residents[j]] and is_own
    largest, j = -np.inf, 0
    while j >= 0:
        value = 0.0
        for t in range(order.shape[0]):
            value += np.log(space.x[entries[t]])
        for j in range(residual):
            if softened[j]:
                value += np.log(evidence.likelihoods[program.variables[residents[j], STATES] + states[j], 0])
        if value > largest:
            largest = value
            for k in range(residual):
                best[k] = states[k]
        j = residual - 1
        while j >= 0:
            states[j] += 1
            carry = states[j] >= space.extents[residents[j]]
            for t in range(order.shape[0]):
                entries[t] += strides[t, j] * (1 - states[j] if carry else 1)
            if not carry:
                break
            states[j] = 0
            j -= 1
    for j in range(residual):
        if space.extents[residents[j]] > 1:
            chosen[residents[j]] = best[j]


@njit(cache=True, nogil=True)
def maximise(program, x, evidence, is_maximised, chosen):
    """Find the most probable states of some variables, the others summed out; return their log-probability.

    ``chosen`` gets the state of every variable that is maximised; the observed ones keep theirs. The answer is valid if
    ``x[SAFE]`` is 1.
    """
    space, log_largest = _workspace(program, x, 1), np.zeros(1)
    _collect(program, evidence, space, is_maximised, log_largest)
    for v in range(chosen.shape[0]):
        chosen[v] = evidence.codes[v, 0]
    for c in range(program.cliques.shape[0] - 2, -1, -1):
        if is_maximised[program.members[program.cliques[c, MEMBERS]]]:
            _choose_residual(program, evidence, space, c, chosen)
    return log_largest[0]


@njit(cache=True, nogil=True)
def condition(program, x, evidence, table_start, tables):
    """Write the distribution of each variable given the other members of its clique, and return ln P(evidence).

    Every clique must eliminate one variable, and no variable may be observed. Tables have the separator's axes first
    and the variable's own last; configurations that cannot occur get its first state. Valid if ``x[SAFE]`` is 1.
    """
    space, log_evidence = _workspace(program, x, 1), np.zeros(1)
    cliques, end = program.cliques, space.at.end
    _collect(program, evidence, space, np.zeros(program.variables.shape[0], np.int64), log_evidence)
    for c in range(cliques.shape[0] - 1):
        product = _multiply_clique(program, evidence, space, c, False)
        for j in range(product.n_axes):
            space.axes[MARKS, j] = 1
        _sum_product(ADD, space, product, end)
        v, size = program.members[cliques[c, MEMBERS]], cliques[c + 1, MESSAGE] - cliques[c, MESSAGE]
        n_states = program.variables[v, N_STATES]
        for s in range(size):
            total = 0.0
            for k in range(n_states):
                total += x[end + k * size + s]
            for k in range(n_states):
                share = x[end + k * size + s] / total if total > 0.0 else 1.0 * (k == 0)
                tables[table_start[v] + s * n_states + k] = share
    return log_evidence[0]
