"""Blocks of text files: what BIF, Hugin NET and DSC have in common between their braces."""

from __future__ import annotations

from collections.abc import Sequence

from tunbridge.formats.assembly import Declared, Draft, Given, check_states
from tunbridge.formats.naming import MARKER
from tunbridge.formats.scanner import Scanner, shown

# Reading


def begin_network(scanner: Scanner, draft: Draft) -> None:
    """Note that the block of the network itself begins at the word just taken; raise when there was one before."""
    if draft.is_begun:
        raise scanner.error("a file must hold one network; got another one.", scanner.at - 1)
    draft.is_begun = True


def discrete_states(scanner: Scanner, name: str, *signs: str) -> tuple[str, ...]:
    """Return the states of ``discrete [ n ] { states };``, with one of the signs before the brace where there are any.

    The number in brackets may be left out.
    """
    scanner.expect("discrete")
    n_states = None
    if scanner.accept("["):
        n_states = scanner.count("the number of states")
        scanner.expect("]")
    if signs:
        scanner.expect(*signs)
    scanner.expect("{")
    place, stop = scanner.at, scanner.find("}", "a list of states")
    states = tuple(scanner.names(place, stop, "the name of a state"))
    check_states(name, states, n_states, lambda message: scanner.error(message, place))
    scanner.at = stop + 1
    scanner.expect(";")
    return states


def read_family(scanner: Scanner, what: str) -> tuple[int, list[str]]:
    """Return the variables of ``( child | parents )``, and where the first of them stands."""
    scanner.expect("(")
    place, close = scanner.at, scanner.find(")", "the variables of a table")
    names = [scanner.name(what)]
    if scanner.at < close:
        scanner.expect("|")
    names += scanner.names(scanner.at, close, what)
    scanner.at = close + 1
    return place, names


def skip_table(scanner: Scanner, draft: Draft, names: Sequence[str], place: int) -> None:
    """Note where the rows of a table stand; they are read when all variables are known."""
    scanner.expect("{")
    start, stop = scanner.at, scanner.find("}", f"the table of {shown(names[0])}")
    draft.given.append(Given(names[0], tuple(names[1:]), place, (start, stop)))
    scanner.at = stop + 1


def without_full_name(declared: Declared, key: str) -> Declared:
    """Return the node without the name in full, under this key, that was written because it is the true one."""
    name, *rest = declared.properties or [""]
    if rest and name.startswith(f"{key} = ") and rest[0].startswith(f"{MARKER}name = "):
        declared.properties = rest
    return declared


# Writing


def block_lines(head: str, statements: Sequence[str]) -> list[str]:
    """Return a block: its head, and its statements between braces.

    Examples
    --------
    >>> block_lines("net", ["a = 1"])
    ['net', '{', '    a = 1;', '}']
    """
    return [head, "{", *(f"    {text};" for text in statements), "}"]
