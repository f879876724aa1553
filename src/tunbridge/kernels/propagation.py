"""Kernels that run the program of a junction tree: exact propagation, most probable states, conditioning.

A clique never holds a table of its own. Its *inputs* are the potentials assigned to it, the messages of its children
and, on the way down, the message of its parent; what it sends is a sum of their product. The inputs are multiplied in
an order, fixed when the program is compiled, in which the scope of the running product grows slowly, and the last
factor is multiplied and summed in one go (``_contract``), so that the table of the whole clique is rarely written
down. A child's part in a message to it is divided out again (Jensen, Lauritzen and Olesen 1990).

All tables have their axes in the order of elimination, first eliminated outermost, so that the separator to the parent
is the inner, contiguous part of every clique, and the *lanes* (rows of a batch) are the innermost axis of all. A
variable observed in every lane has an axis of length one: evidence makes all tables smaller. Other evidence (soft, or
in some lanes only) is multiplied into one potential of the variable while that is copied.

The program is described in :mod:`tunbridge.kernels.program`, the buffer that it works in (``x`` below, its parts
beginning at ``parts``) in :mod:`tunbridge.kernels.buffer`.
"""

import numpy as np
from numba import njit

from tunbridge.kernels.buffer import (
    COPIES,
    DOWN,
    END,
    LEAST,
    MARGINALS,
    OTHER_PRODUCT,
    POTENTIALS,
    PRODUCT,
    SCRATCH,
    UNIT,
    UP,
)
from tunbridge.kernels.program import (
    AXES,
    AXES_START,
    CLIQUE_START,
    CLIQUE_VARS,
    DOWN_ORDER,
    HOME,
    INPUT_START,
    JOINTLY,
    MESSAGE_START,
    N_RESIDUAL,
    N_STATES,
    OWN,
    PARENT,
    SCOPE_START,
    SCOPE_VARS,
    SOURCE,
    STATE_START,
    TABLE_START,
    UP_ORDER,
    VIA,
    section,
)

_SMALL_PRODUCT = 4096  # entries: to look for small ones among them after every factor costs nothing
_SMALL = 1e-120
_SMALLEST = 1e-300


ASSIGN = np.int64(0)
ADD = np.int64(1)
MAXIMISE = np.int64(2)


def _make_sums(length):
    """Return the innermost loops for runs of a fixed length, which are unrolled, or (0) of any.

    Offsets are unsigned: a negative index would count from the end, and the test for it keeps loops from being vectors.
    """

    @njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
    def combine(op, case, x, a, b, o, n, m, a1, b1, o1):
        a, b, o = np.uint64(a), np.uint64(b), np.uint64(o)
        a1, b1, o1 = np.uint64(a1), np.uint64(b1), np.uint64(o1)
        n = np.uint64(length) if length else np.uint64(n)
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
def _rare(op, case, x, a, b, o, n, m, a1, b1, o1):
    """The innermost loops for maxima, and for runs that only the result has."""
    if case == 0 and op == MAXIMISE:
        for _ in range(m):
            for i in range(n):
                x[o + i] = max(x[o + i], x[a + i] * x[b + i])
            a, b, o = a + a1, b + b1, o + o1
    elif case == 1 and op == MAXIMISE:
        for _ in range(m):
            factor = x[b]
            for i in range(n):
                x[o + i] = max(x[o + i], x[a + i] * factor)
            a, b, o = a + a1, b + b1, o + o1
    elif case == 2 and op == ASSIGN:
        for _ in range(m):
            factor = x[a] * x[b]
            for i in range(n):
                x[o + i] = factor
            a, b, o = a + a1, b + b1, o + o1
    elif case == 2 and op == ADD:
        for _ in range(m):
            factor = x[a] * x[b]
            for i in range(n):
                x[o + i] += factor
            a, b, o = a + a1, b + b1, o + o1
    elif case == 2 and op == MAXIMISE:
        for _ in range(m):
            factor = x[a] * x[b]
            for i in range(n):
                x[o + i] = max(x[o + i], factor)
            a, b, o = a + a1, b + b1, o + o1
    elif case == 3 and op == MAXIMISE:
        for _ in range(m):
            found = 0.0
            for i in range(n):
                found = max(found, x[a + i] * x[b + i])
            x[o] = max(x[o], found)
            a, b, o = a + a1, b + b1, o + o1
    elif case == 4 and op == MAXIMISE:
        for _ in range(m):
            found = 0.0
            for i in range(n):
                found = max(found, x[a + i])
            x[o] = max(x[o], found * x[b])
            a, b, o = a + a1, b + b1, o + o1


@njit(cache=True, nogil=True)
def _combine(op, case, x, a, b, o, n, m, a1, b1, o1):
    """Combine runs of n entries, m times; ∘ stands for the operation on what is there and the product.

    Case 0: o[i] ∘ a[i] b[i], 1: o[i] ∘ a[i] b, 2: o[i] ∘ a b, 3: o ∘ Σ a[i] b[i], 4: o ∘ b Σ a[i].
    """
    if op == MAXIMISE or case == 2:
        _rare(op, case, x, a, b, o, n, m, a1, b1, o1)
    elif n == 2:
        _sums_2(op, case, x, a, b, o, n, m, a1, b1, o1)
    elif n == 3:
        _sums_3(op, case, x, a, b, o, n, m, a1, b1, o1)
    elif n == 4:
        _sums_4(op, case, x, a, b, o, n, m, a1, b1, o1)
    else:
        _sums(op, case, x, a, b, o, n, m, a1, b1, o1)


@njit(cache=True, nogil=True)
def _contract(op, n_axes, extents, x, a, in_a, b, in_b, o, in_o, work):
    """Fill table o with the product of tables a and b, summed (or maximised) over the axes that o lacks.

    The tables are compact and have their axes in the same order, so neighbouring axes with equal membership are one.
    Returns the number of entries of o.
    """
    count, stride_a, stride_b, stride_o, at = work[0], work[1], work[2], work[3], work[4]
    k, size_a, size_b, size_o, reduces = 0, 1, 1, 1, False
    flags = -1
    for j in range(n_axes - 1, -1, -1):
        e = extents[j]
        here = in_a[j] + 2 * in_b[j] + 4 * in_o[j]
        if e == 1 or here == 0:
            continue
        reduces = reduces or here < 4
        if here == flags:
            count[k - 1] *= e
        else:
            count[k] = e
            stride_a[k] = size_a if in_a[j] else 0
            stride_b[k] = size_b if in_b[j] else 0
            stride_o[k] = size_o if in_o[j] else 0
            k += 1
            flags = here
        if in_a[j]:
            size_a *= e
        if in_b[j]:
            size_b *= e
        if in_o[j]:
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
        _combine(op, case, x, a, b, o, count[0], np.int64(1), stride_a[0], stride_b[0], stride_o[0])
        return size_o
    for i in range(2, k):
        at[i] = 0
    while True:
        _combine(op, case, x, a, b, o, count[0], count[1], stride_a[1], stride_b[1], stride_o[1])
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
def _copy_potential(program, f, x, read, write, lanes, extents, codes, soft, is_soft, work):
    """Copy what the evidence leaves of a potential, one entry for every free configuration and lane."""
    n_states, state_start = section(program, N_STATES), section(program, STATE_START)
    scope_start, own = section(program, SCOPE_START), section(program, OWN)
    variables = section(program, SCOPE_VARS)[scope_start[f] : scope_start[f + 1]]
    count, stride, at = work[0], work[1], work[2]
    k, size, total, softened, soft_axis = 0, 1, 1, -1, -1
    for i in range(variables.shape[0] - 1, -1, -1):
        v = variables[i]
        if extents[v] > 1:
            count[k], stride[k], at[k] = extents[v], size, 0
            if own[v] == f and is_soft[v]:
                softened, soft_axis = v, k
            total *= extents[v]
            k += 1
        size *= n_states[v]
    for lane in range(lanes):
        offset, size = read, 1
        for i in range(variables.shape[0] - 1, -1, -1):
            v = variables[i]
            if extents[v] == 1:
                offset += max(codes[v, lane], 0) * size
            size *= n_states[v]
        factor = 1.0
        for i in range(variables.shape[0]):  # soft evidence on a variable of one state
            v = variables[i]
            if own[v] == f and is_soft[v] and extents[v] == 1:
                factor *= soft[state_start[v], lane]
        for entry in range(total):
            value = x[offset] * factor
            if softened >= 0:
                value *= soft[state_start[softened] + at[soft_axis], lane]
            x[write + entry * lanes + lane] = value
            for i in range(k):
                at[i] += 1
                offset += stride[i]
                if at[i] < count[i]:
                    break
                offset -= at[i] * stride[i]
                at[i] = 0
    return total * lanes


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
def _settle_evidence(program, codes, soft, is_soft, extents, touched):
    """Find the axes that evidence leaves, make evidence of some lanes soft, and mark the potentials it touches."""
    n_states, state_start, own = section(program, N_STATES), section(program, STATE_START), section(program, OWN)
    lanes = codes.shape[1]
    for v in range(n_states.shape[0]):
        n_observed = 0
        for lane in range(lanes):
            n_observed += codes[v, lane] >= 0
        extents[v] = 1 if n_observed == lanes else n_states[v]
        if 0 < n_observed < lanes:
            is_soft[v] = 1
            for lane in range(lanes):
                code = codes[v, lane]
                for k in range(n_states[v]):
                    soft[state_start[v] + k, lane] = 1.0 if code < 0 or code == k else 0.0
    scope_start, scope_vars = section(program, SCOPE_START), section(program, SCOPE_VARS)
    for f in range(touched.shape[0]):
        touched[f] = 0
        for i in range(scope_start[f], scope_start[f + 1]):
            v = scope_vars[i]
            if (extents[v] == 1 and n_states[v] > 1) or (is_soft[v] and own[v] == f):
                touched[f] = 1


@njit(cache=True, nogil=True)
def _prepare_clique(program, c, parts, x, lanes, extents, touched, codes, soft, is_soft, place, own_extents, work):
    """Set the lengths of a clique's axes, and copy the potentials that evidence touches."""
    clique_start, clique_vars = section(program, CLIQUE_START), section(program, CLIQUE_VARS)
    input_start, source = section(program, INPUT_START), section(program, SOURCE)
    table_start = section(program, TABLE_START)
    n_axes = clique_start[c + 1] - clique_start[c]
    for j in range(n_axes):
        own_extents[j] = extents[clique_vars[clique_start[c] + j]]
    own_extents[n_axes] = lanes
    write = parts[COPIES]
    for i in range(input_start[c], input_start[c + 1]):
        f = source[i]
        if f < touched.shape[0]:
            place[f] = parts[POTENTIALS] + table_start[f]
            if touched[f]:
                size = _copy_potential(program, f, x, place[f], write, lanes, extents, codes, soft, is_soft, work)
                place[f] = write
                write += size
    return n_axes + 1


@njit(cache=True, nogil=True)
def _find_input(program, c, i, parts, lanes, touched, place, n_axes, flags):
    """Return where an input of clique c lies, and mark its axes."""
    s = section(program, SOURCE)[i]
    axes_start, axes = section(program, AXES_START), section(program, AXES)
    n_potentials, message_start = touched.shape[0], section(program, MESSAGE_START)
    for j in range(n_axes):
        flags[j] = 0
    for j in range(axes_start[i], axes_start[i + 1]):
        flags[axes[j]] = 1
    if s < n_potentials:
        flags[n_axes - 1] = touched[s]
        return place[s]
    flags[n_axes - 1] = 1
    child = s - n_potentials
    if child < message_start.shape[0] - 1:
        return parts[UP] + message_start[child] * lanes
    return parts[DOWN] + message_start[c] * lanes


@njit(cache=True, nogil=True)
def _holds_small(x, start, size):
    """Return whether a table holds entries so small that further factors could make them vanish."""
    found = False
    for i in range(np.uint64(start), np.uint64(start + size)):
        found |= (x[i] > 0.0) & (x[i] < _SMALL)
    return found


@njit(cache=True, nogil=True)
def _add_logarithms(n_axes, extents, x, o, in_o, b, in_b, work):
    """Add the logarithms of table b to table o, which has all its axes and perhaps more."""
    stride_o, stride_b, at = 1, 1, work[0]
    for j in range(n_axes - 1, -1, -1):
        at[j] = 0
        work[1, j] = stride_b if in_b[j] else 0
        stride_o *= extents[j] if in_o[j] else 1
        stride_b *= extents[j] if in_b[j] else 1
    for entry in range(o, o + stride_o):
        x[entry] += np.log(x[b])
        for j in range(n_axes - 1, -1, -1):
            if in_o[j]:
                at[j] += 1
                b += work[1, j]
                if at[j] < extents[j]:
                    break
                b -= at[j] * work[1, j]
                at[j] = 0
    return stride_o


@njit(cache=True, nogil=True)
def _add_inputs(program, c, inputs, parts, x, lanes, touched, place, n_axes, extents, flags, log_scale, work):
    """Multiply inputs by adding their logarithms; the result is scaled to a largest entry of 1.

    Entries that are possible stay above 0, however small beside the largest one. The last input takes part if it has no
    axis of its own (the unit is then the last one); else there is no room.
    """
    in_a, in_b = flags[0], flags[1]
    for j in range(n_axes):
        in_a[j] = j == n_axes - 1
    for t in range(inputs.shape[0] - 1):
        _find_input(program, c, inputs[t], parts, lanes, touched, place, n_axes, in_b)
        for j in range(n_axes):
            in_a[j] |= in_b[j]
    last = _find_input(program, c, inputs[-1], parts, lanes, touched, place, n_axes, in_b)
    size, n_added = 1, inputs.shape[0]
    for j in range(n_axes):
        size *= extents[j] if in_a[j] else 1
        if in_b[j] > in_a[j]:
            n_added = inputs.shape[0] - 1
    room = parts[OTHER_PRODUCT] - parts[PRODUCT]
    o = parts[PRODUCT] if room >= parts[END] - parts[OTHER_PRODUCT] else parts[OTHER_PRODUCT]
    for i in range(o, o + size):
        x[i] = 0.0
    for t in range(n_added):
        b = _find_input(program, c, inputs[t], parts, lanes, touched, place, n_axes, in_b)
        _add_logarithms(n_axes, extents, x, o, in_a, b, in_b, work)
    for lane in range(lanes):
        largest = -np.inf
        for i in range(o + lane, o + size, lanes):
            largest = max(largest, x[i])
        log_scale[lane] += largest
        for i in range(o + lane, o + size, lanes):
            x[i] = max(np.exp(x[i] - largest), _SMALLEST) if x[i] > -np.inf else 0.0
    if n_added < inputs.shape[0]:
        _find_input(program, c, inputs[-1], parts, lanes, touched, place, n_axes, in_b)
        return o, last
    for j in range(n_axes):
        in_b[j] = 0
    return o, UNIT


@njit(cache=True, nogil=True)
def _multiply_inputs(program, c, inputs, parts, x, lanes, touched, place, n_axes, extents, flags, log_scale, work):
    """Multiply all inputs but the last; return where the product and the last input lie. flags[0], flags[1] are theirs.

    Where entries become very small (or a potential has such entries), logarithms are added instead. To scale a product
    would not do: it keeps the product from vanishing, but not one state beside another, and that could not come back.
    """
    if x[LEAST] < _SMALL and inputs.shape[0] > 2:
        return _add_inputs(program, c, inputs, parts, x, lanes, touched, place, n_axes, extents, flags, log_scale, work)
    in_a, in_b, in_o = flags[0], flags[1], flags[2]
    a, free, other = UNIT, parts[PRODUCT], parts[OTHER_PRODUCT]
    for j in range(n_axes):
        in_a[j] = 0
    for t in range(inputs.shape[0] - 1):
        b = _find_input(program, c, inputs[t], parts, lanes, touched, place, n_axes, in_b)
        if t == 0:
            a = b
            for j in range(n_axes):
                in_a[j] = in_b[j]
            continue
        grows = False  # by the axes alone, whatever evidence left of them: so were the products laid out
        for j in range(n_axes - 1):
            in_o[j] = in_a[j] | in_b[j]
            grows = grows or in_o[j] > in_a[j]
        in_o[n_axes - 1] = 1
        o = a if t > 1 and not grows else free
        size = _contract(ASSIGN, n_axes, extents, x, a, in_a, b, in_b, o, in_o, work)
        if o == free:
            free, other = other, free
        a = o
        for j in range(n_axes):
            in_a[j] = in_o[j]
        if (t % 2 == 0 or size <= _SMALL_PRODUCT) and _holds_small(x, a, size):
            return _add_inputs(
                program, c, inputs, parts, x, lanes, touched, place, n_axes, extents, flags, log_scale, work
            )
    b = _find_input(program, c, inputs[-1], parts, lanes, touched, place, n_axes, in_b)
    return a, b


@njit(cache=True, nogil=True)
def _mark_separator(program, c, n_axes, flags):
    residual = section(program, N_RESIDUAL)[c]
    for j in range(n_axes):
        flags[j] = j >= residual


@njit(cache=True, nogil=True)
def _mark_only(axis, n_axes, flags):
    for j in range(n_axes):
        flags[j] = j == axis or j == n_axes - 1


@njit(cache=True, nogil=True)
def _mark_variables(program, c, variables, n_axes, flags):
    clique_start, clique_vars = section(program, CLIQUE_START), section(program, CLIQUE_VARS)
    for j in range(n_axes - 1):
        flags[j] = 0
        for v in variables:
            if clique_vars[clique_start[c] + j] == v:
                flags[j] = 1
    flags[n_axes - 1] = 1


@njit(cache=True, nogil=True)
def _needed_cliques(program, wanted, joint):
    """Mark the cliques that the way down has to pass: those that hold a wanted variable, and all above them."""
    home, parent = section(program, HOME), section(program, PARENT)
    needed = np.zeros(parent.shape[0], np.int64)
    if joint.shape[0] > 0:
        needed[home[joint[0]]] = 1
    for v in range(home.shape[0]):
        if wanted[v]:
            needed[home[v]] = 1
    for c in range(parent.shape[0]):
        if needed[c] and parent[c] >= 0:
            needed[parent[c]] = 1
    return needed


@njit(cache=True, nogil=True)
def _widest(program):
    clique_start = section(program, CLIQUE_START)
    scope_start = section(program, SCOPE_START)
    widest = 1
    for c in range(clique_start.shape[0] - 1):
        widest = max(widest, clique_start[c + 1] - clique_start[c])
    for f in range(scope_start.shape[0] - 1):
        widest = max(widest, scope_start[f + 1] - scope_start[f])
    return widest


@njit(cache=True, nogil=True)
def _write_marginals(program, c, parts, x, lanes, wanted, codes, extents, own_extents, a, b, n_axes, flags, work):
    """Write the marginals of the wanted variables that are eliminated in clique c, from its product a·b."""
    clique_start, clique_vars = section(program, CLIQUE_START), section(program, CLIQUE_VARS)
    n_states, state_start = section(program, N_STATES), section(program, STATE_START)
    residual = section(program, N_RESIDUAL)[c]
    in_a, in_b, in_o = flags[0], flags[1], flags[2]
    if section(program, JOINTLY)[c]:
        for j in range(n_axes):
            in_o[j] = j < residual or j == n_axes - 1
        _contract(ADD, n_axes, own_extents, x, a, in_a, b, in_b, parts[SCRATCH], in_o, work)
        a, b = parts[SCRATCH], UNIT
        for j in range(n_axes):
            in_a[j], in_b[j] = in_o[j], 0
    unused = np.zeros(lanes)
    for j in range(residual):
        v = clique_vars[clique_start[c] + j]
        if not wanted[v]:
            continue
        write = parts[MARGINALS] + state_start[v] * lanes
        if extents[v] == 1:
            for k in range(n_states[v]):
                for lane in range(lanes):
                    x[write + k * lanes + lane] = 1.0 if k == max(codes[v, lane], 0) else 0.0
            continue
        _mark_only(j, n_axes, in_o)
        _contract(ADD, n_axes, own_extents, x, a, in_a, b, in_b, write, in_o, work)
        _scale(x, write, n_states[v], lanes, unused)


@njit(cache=True, nogil=True)
def _workspace(program, n_variables):
    """Return the small arrays a run works in: extents, touched, place, a clique's own extents, flags, work."""
    n_potentials, widest = section(program, TABLE_START).shape[0] - 1, _widest(program) + 1
    return (
        np.empty(n_variables, np.int64), np.empty(n_potentials, np.int64), np.empty(n_potentials, np.int64),
        np.empty(widest, np.int64), np.empty((4, widest), np.int64), np.empty((5, widest), np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _inputs_below(program, c):
    """Return the inputs of a clique but for its parent's, in the order in which they are multiplied."""
    start, parent = section(program, INPUT_START), section(program, PARENT)
    return section(program, UP_ORDER)[start[c] : start[c + 1] - (parent[c] >= 0)]


@njit(cache=True, nogil=True)
def _collect(program, parts, x, codes, soft, is_soft, is_maximised, space, log_scale):
    """Send the messages up, each the sum (or the maximum) over what its clique eliminates; add up what they lose.

    Variables that are maximised are eliminated after the others, in cliques of their own.
    """
    lanes, message_start = codes.shape[1], section(program, MESSAGE_START)
    clique_start, clique_vars = section(program, CLIQUE_START), section(program, CLIQUE_VARS)
    extents, touched, place, own_extents, flags, work = space
    _settle_evidence(program, codes, soft, is_soft, extents, touched)
    for c in range(message_start.shape[0] - 1):
        n_axes = _prepare_clique(
            program, c, parts, x, lanes, extents, touched, codes, soft, is_soft, place, own_extents, work
        )
        inputs = _inputs_below(program, c)
        a, b = _multiply_inputs(
            program, c, inputs, parts, x, lanes, touched, place, n_axes, own_extents, flags, log_scale, work
        )
        _mark_separator(program, c, n_axes, flags[2])
        op = MAXIMISE if is_maximised[clique_vars[clique_start[c]]] else ADD
        message = parts[UP] + message_start[c] * lanes
        size = _contract(op, n_axes, own_extents, x, a, flags[0], b, flags[1], message, flags[2], work)
        _scale(x, message, size // lanes, lanes, log_scale)


@njit(cache=True, nogil=True)
def propagate(program, parts, x, codes, soft, is_soft, wanted, joint, log_evidence):
    """Compute the logarithm of the probability of the evidence, and the marginals of the wanted variables.

    codes[v, lane] is the observed state of a variable, −1 where there is none; soft[state, lane] the likelihoods of the
    variables that ``is_soft`` marks. Marginals are written to the buffer; a lane of impossible evidence gets −∞. The
    variables of ``joint``, in the order of elimination, have their joint table written behind the end of the buffer's
    parts; they must stand in the home clique of the first of them.
    """
    lanes, n_potentials = codes.shape[1], section(program, TABLE_START).shape[0] - 1
    input_start, source = section(program, INPUT_START), section(program, SOURCE)
    down_order, via, n_cliques = section(program, DOWN_ORDER), section(program, VIA), section(program, PARENT).shape[0]
    for lane in range(lanes):
        log_evidence[lane] = 0.0
    space = _workspace(program, codes.shape[0])
    extents, touched, place, own_extents, flags, work = space
    in_a, in_b, in_o, in_h = flags[0], flags[1], flags[2], flags[3]
    _collect(program, parts, x, codes, soft, is_soft, np.zeros(codes.shape[0], np.int64), space, log_evidence)
    needed, unused = _needed_cliques(program, wanted, joint), np.zeros(lanes)
    joint_clique = section(program, HOME)[joint[0]] if joint.shape[0] > 0 else -1
    for c in range(n_cliques - 1, -1, -1):
        if not needed[c]:
            continue
        n_axes = _prepare_clique(
            program, c, parts, x, lanes, extents, touched, codes, soft, is_soft, place, own_extents, work
        )
        inputs = down_order[input_start[c] : input_start[c + 1]]
        a, b = _multiply_inputs(
            program, c, inputs, parts, x, lanes, touched, place, n_axes, own_extents, flags, unused, work
        )
        for i in range(input_start[c], input_start[c + 1]):
            child = source[i] - n_potentials
            if 0 <= child < n_cliques and needed[child]:
                up = _find_input(program, c, i, parts, lanes, touched, place, n_axes, in_o)
                down = up - parts[UP] + parts[DOWN]
                if via[i] >= 0 and needed[source[via[i]] - n_potentials]:
                    from_up = _find_input(program, c, via[i], parts, lanes, touched, place, n_axes, in_h)
                    from_down = from_up - parts[UP] + parts[DOWN]
                    size = _contract(ADD, n_axes, own_extents, x, from_up, in_h, from_down, in_h, down, in_o, work)
                else:
                    size = _contract(ADD, n_axes, own_extents, x, a, in_a, b, in_b, down, in_o, work)
                _divide(x, down, up, size // lanes, lanes)
        if c == joint_clique:
            _mark_variables(program, c, joint, n_axes, in_o)
            size = _contract(ADD, n_axes, own_extents, x, a, in_a, b, in_b, parts[END], in_o, work)
            _scale(x, parts[END], size // lanes, lanes, unused)
        _write_marginals(program, c, parts, x, lanes, wanted, codes, extents, own_extents, a, b, n_axes, flags, work)


@njit(cache=True, nogil=True)
def _input_entry(program, c, i, parts, extents, chosen, strides):
    """Return where input i of clique c has its entry for the chosen states, and set the stride of each of c's axes.

    A potential is read where it lies, with all its axes; a message has the axes that the evidence left.
    """
    n_potentials, n_states = section(program, TABLE_START).shape[0] - 1, section(program, N_STATES)
    clique_start, clique_vars = section(program, CLIQUE_START), section(program, CLIQUE_VARS)
    axes_start, axes = section(program, AXES_START), section(program, AXES)
    s = section(program, SOURCE)[i]
    if s < n_potentials:
        entry = parts[POTENTIALS] + section(program, TABLE_START)[s]
    else:
        entry = parts[UP] + section(program, MESSAGE_START)[s - n_potentials]
    for j in range(strides.shape[0]):
        strides[j] = 0
    stride = 1
    for j in range(axes_start[i + 1] - 1, axes_start[i] - 1, -1):
        v = clique_vars[clique_start[c] + axes[j]]
        extent = n_states[v] if s < n_potentials else extents[v]
        if extent > 1:
            strides[axes[j]] = stride
            entry += max(chosen[v], 0) * stride
            stride *= extent
    return entry


@njit(cache=True, nogil=True)
def _choose_residual(program, c, inputs, parts, x, extents, chosen, soft, is_soft, entries, strides):
    """Set the residual variables of clique c to the states at which the product of its inputs is largest."""
    clique_start, clique_vars = section(program, CLIQUE_START), section(program, CLIQUE_VARS)
    state_start, own, source = section(program, STATE_START), section(program, OWN), section(program, SOURCE)
    residual = section(program, N_RESIDUAL)[c]
    variables = clique_vars[clique_start[c] : clique_start[c] + residual]
    at, best, softened = np.zeros(residual, np.int64), np.zeros(residual, np.int64), np.zeros(residual, np.int64)
    for t in range(inputs.shape[0]):
        entries[t] = _input_entry(program, c, inputs[t], parts, extents, chosen, strides[t])
        for j in range(residual):
            softened[j] |= is_soft[variables[j]] and source[inputs[t]] == own[variables[j]]
    largest, j = -np.inf, 0
    while j >= 0:
        value = 0.0
        for t in range(inputs.shape[0]):
            value += np.log(x[entries[t]])
        for j in range(residual):
            if softened[j]:
                value += np.log(soft[state_start[variables[j]] + at[j], 0])
        if value > largest:
            largest = value
            for j in range(residual):
                best[j] = at[j]
        j = residual - 1
        while j >= 0:
            at[j] += 1
            carry = at[j] >= extents[variables[j]]
            for t in range(inputs.shape[0]):
                entries[t] += strides[t, j] * (1 - at[j] if carry else 1)
            if not carry:
                break
            at[j] = 0
            j -= 1
    for j in range(residual):
        if extents[variables[j]] > 1:
            chosen[variables[j]] = best[j]


@njit(cache=True, nogil=True)
def maximise(program, parts, x, codes, soft, is_soft, is_maximised, chosen):
    """Find the most probable states of some variables, the others summed out; return their log-probability.

    ``chosen`` gets the state of every variable that is maximised; the observed ones keep theirs.
    """
    clique_start, clique_vars = section(program, CLIQUE_START), section(program, CLIQUE_VARS)
    space, log_largest, most_inputs = _workspace(program, codes.shape[0]), np.zeros(1), 1
    _collect(program, parts, x, codes, soft, is_soft, is_maximised, space, log_largest)
    for v in range(chosen.shape[0]):
        chosen[v] = codes[v, 0]
    for c in range(clique_start.shape[0] - 1):
        most_inputs = max(most_inputs, _inputs_below(program, c).shape[0])
    entries, strides = np.empty(most_inputs, np.int64), np.empty((most_inputs, space[3].shape[0]), np.int64)
    for c in range(clique_start.shape[0] - 2, -1, -1):
        if is_maximised[clique_vars[clique_start[c]]]:
            inputs = _inputs_below(program, c)
            _choose_residual(program, c, inputs, parts, x, space[0], chosen, soft, is_soft, entries, strides)
    return log_largest[0]


@njit(cache=True, nogil=True)
def condition(program, parts, x, codes, soft, is_soft, table_start, tables):
    """Write the distribution of each variable given the other members of its clique, and return ln P(evidence).

    Every clique must eliminate one variable, and no variable may be observed. Tables have the separator's axes first
    and the variable's own last; configurations that cannot occur get its first state.
    """
    n_states, message_start = section(program, N_STATES), section(program, MESSAGE_START)
    clique_start, clique_vars = section(program, CLIQUE_START), section(program, CLIQUE_VARS)
    space, log_evidence, unused = _workspace(program, codes.shape[0]), np.zeros(1), np.zeros(1)
    extents, touched, place, own_extents, flags, work = space
    _collect(program, parts, x, codes, soft, is_soft, np.zeros(codes.shape[0], np.int64), space, log_evidence)
    for c in range(clique_start.shape[0] - 1):
        n_axes = _prepare_clique(
            program, c, parts, x, codes.shape[1], extents, touched, codes, soft, is_soft, place, own_extents, work
        )
        inputs = _inputs_below(program, c)
        a, b = _multiply_inputs(
            program, c, inputs, parts, x, codes.shape[1], touched, place, n_axes, own_extents, flags, unused, work
        )
        for j in range(n_axes):
            flags[2, j] = 1
        _contract(ADD, n_axes, own_extents, x, a, flags[0], b, flags[1], parts[END], flags[2], work)
        v, size = clique_vars[clique_start[c]], message_start[c + 1] - message_start[c]
        for s in range(size):
            total = 0.0
            for k in range(n_states[v]):
                total += x[parts[END] + k * size + s]
            for k in range(n_states[v]):
                share = x[parts[END] + k * size + s] / total if total > 0.0 else 1.0 * (k == 0)
                tables[table_start[v] + s * n_states[v] + k] = share
    return log_evidence[0]
