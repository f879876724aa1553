"""Model files: seeds of every kind, mutations inside their JSON and arrays, and a use of whatever still loads.

A model file has checksums, so blind changes of bytes say little about what is behind them. Here a file is taken apart
to a tree of JSON values with its arrays as leaves, the tree is changed (numbers at the edges, other types, entries
dropped, repeated, exchanged or taken from another file, arrays cut, reshaped, permuted, cast) and written again with
valid checksums and one member for each array that is left. A model that loads is asked everything that models answer.
"""

from __future__ import annotations

import io
import json
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from functools import cache, lru_cache
from itertools import count
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tunbridge as tb
from tools.fuzz.mutations import mutate_bytes, mutate_tokens
from tunbridge.errors import TunbridgeError

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "reference" / "golden"

_EDGES: tuple[Any, ...] = (
    *(0, 1, -1, 2, 7, 0.5, -0.5, 1e-320, 1e308, -1e308, 1e16, 2**31, 2**40, 2**53, 1.0, True, False, None, "", "x"),
    *("a" * 5000, [], {}, [[]], [None], {"$float": "nan"}, {"$float": "inf"}, {"$float": "-inf"}, {"$tuple": []}),
    *({"$int": hex(2**80)}, {"$decimal": "NaN"}, {"$decimal": "1e999"}, {"$date": "1761-04-07"}),
    *({"$variable": {"name": "v", "states": ["p", "q"], "ordered": False}}, {"$numpy": ["<f8", 0.5]}),
)  # fmt: skip
_FLOATS = (0.0, 1.0, -1.0, 0.5, 3.0, 1e-320, 1e-300, 1e16, 1e150, 1e308, -1e308, np.nan, np.inf, -np.inf)
_TYPES = ("<f8", "<f4", "<f2", "<i8", "<i4", "<i2", "|i1", "|u1", "<u8", "|b1", "<U4")


# Seeds


def model_seeds() -> list[bytes]:
    """Return one file of every kind, as this version and as an earlier one writes it, and of many variants."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "seed.tb"
        found = [each.read_bytes() for each in sorted(GOLDEN.glob("*.tb")) if each.stat().st_size < 20_000]
        for model in _models():
            model.write(path) if isinstance(model, tb.BayesianNetwork) else model.save(path)
            found.append(path.read_bytes())
    return found


def _models() -> Iterator[Any]:
    mixed = {
        "a": [*"xyxzyxyxzxyx"],
        "b": [1.5, 2.0, 0.5, None, 3.5, 2.5, 1.0, 4.0, 3.0, 2.2, 1.1, 0.3],
        "c": [True, False, None] * 4,
        "y": ["p", "q"] * 6,
    }
    coded = {name: mixed[name] for name in ("a", "c", "y")}
    for make in _table_models():
        for table in (mixed, coded):
            yield make().fit(table, "y")
    missing = {**mixed, "y": ["p", "q", None] * 4}
    yield tb.SemiSupervisedClassifier(tb.TANClassifier()).fit(missing, "y")
    texts, names = (
        ["win a prize now", "free prize", "lunch at noon", "see you at lunch"],
        ["anna", "nina", "otto", "hugo"],
    )
    for options in (
        *({"model": m} for m in ("multinomial", "bernoulli", "complement", "nb-svm")),
        *(
            {"n_buckets": 16},
            {"tokens": "characters", "ngrams": (1, 3)},
            {"stop_words": 1, "min_count": 2},
            {"idf": True},
        ),
    ):
        yield tb.TextClassifier(**options).fit(texts, [1, 1, 0, 0])
    for options in (
        *(
            {"order": 0},
            {"order": 2, "ends": False},
            {"order": "bic"},
            {"order": "cv", "max_order": 2},
            {"smoothing": 1},
        ),
        *({"model": "position"}, {"model": "position", "order": 0}, {"ignore_case": True, "gaps": "-"}),
    ):
        yield tb.SequenceClassifier(**options).fit(names, ["f", "f", "m", "m"])
    yield tb.SequenceClassifier(order=1).fit([[1, 2, 1], [2, 2], [3, 1], [3, 3, 2]], ["f", "f", "m", "m"])
    yield tb.CalibratedClassifier(tb.TextClassifier()).fit(texts, [1, 1, 0, 0])
    yield from _networks(mixed)


def _table_models() -> list[Callable[[], Any]]:
    nb, guess = tb.NaiveBayesClassifier, {"x": 0.2, "y": 0.3, "z": 0.5}
    return [
        *(lambda n=n: nb(numeric=n) for n in ("gaussian", "kernel", "discretise")),
        lambda: nb(class_prior={"p": 0.3, "q": 0.7}, smoothing={"a": tb.MEstimate(2, guess)}, categorical="all"),
        *(tb.SelectiveNaiveBayesClassifier, tb.JoinedNaiveBayesClassifier, tb.WeightedNaiveBayesClassifier),
        lambda: tb.TANClassifier(missing="state"),
        lambda: tb.TANClassifier(numeric="gaussian", smoothing=1.0),
        *(tb.KDBClassifier, tb.SelectiveKDBClassifier, tb.MultinetClassifier),
        lambda: tb.KDBClassifier(numeric="gaussian"),
        lambda: tb.AODEClassifier(weighting="mutual information", subsumption=True),
        lambda: tb.A2DEClassifier(missing="state", smoothing=1.0),
        lambda: tb.BayesNetClassifier(numeric="gaussian", constraints=tb.Constraints(forbidden=[("a", "c")])),
        lambda: tb.BayesNetClassifier(structure=tb.DAG(arcs=[("y", "a"), ("y", "c"), ("a", "c")])),
        lambda: tb.BayesForestClassifier(n_networks=1, max_parents=1, random_state=0),
        lambda: tb.BayesOptimalClassifier([("nb", nb()), ("tan", tb.TANClassifier())], folds=2),
        *(lambda m=m: tb.CalibratedClassifier(nb(), method=m, folds=2) for m in ("isotonic", "temperature", "none")),
    ]  # fmt: skip


def _networks(mixed: dict[str, Any]) -> Iterator[Any]:
    yield tb.fit_parameters(tb.DAG(arcs=[("y", "a"), ("a", "b"), ("y", "b")]), mixed)
    big = {name: [f"s{i}" for i in range(4)] for name in "uvw"}
    sparse = tb.SparseCPT(tb.Variable("w", big["w"]), (tb.Variable("u", big["u"]), tb.Variable("v", big["v"])),
        {("s0", "s1"): [0.1, 0.2, 0.3, 0.4]}, default=[0.25] * 4) if hasattr(tb, "SparseCPT") else None  # fmt: skip
    if sparse is not None:
        yield tb.BayesianNetwork(big, [("u", "w"), ("v", "w")], {"u": [0.25] * 4, "v": [0.25] * 4, "w": sparse})


# Mutations


def mutate_model(data: bytes, rng: Random) -> bytes:
    """Return a model file with a few places of its content changed, or a few of its bytes."""
    if rng.random() < 0.02:
        return mutate_bytes(data, rng)
    try:
        root = deepcopy(_parts_of(data))
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            _mutate_place(root, list(_places(root)), rng)
        return _file_of(root, rng)
    except Exception:  # whatever zipfile, json and NumPy raise for what is no model any more
        return mutate_bytes(data, rng)


@cache
def _others() -> list[Any]:
    return [_parts_of(path.read_bytes()) for path in sorted(GOLDEN.glob("*.tb"))]


@lru_cache(1000)
def _parts_of(data: bytes) -> Any:
    """Return the JSON of a file with its arrays in the places of their numbers."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        root = json.loads(archive.read("model.json"))
        arrays = [np.load(io.BytesIO(archive.read(f"arrays/{n}.npy"))) for n in range(len(archive.namelist()) - 1)]
    for holder, key in list(_places(root)):
        value = holder[key]
        if isinstance(value, dict) and set(value) == {"$array"}:
            holder[key] = arrays[value["$array"]]
    return root


def _file_of(root: Any, rng: Random) -> bytes:
    """Return a file with valid checksums; one text or array in twenty is changed once more as bytes."""
    numbers, members = count(), {}

    def number(array: object) -> dict[str, int]:
        n = next(numbers)
        members[f"arrays/{n}.npy"] = _array_bytes(array)
        return {"$array": n}

    text = json.dumps(root, default=number).encode()
    members = {"model.json": mutate_tokens(text, rng) if rng.random() < 0.03 else text, **members}
    if rng.random() < 0.02:
        name = rng.choice(list(members))
        members[name] = mutate_bytes(members[name], rng)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for each, content in members.items():
            archive.writestr(zipfile.ZipInfo(each), content, zipfile.ZIP_DEFLATED, 1)
    return out.getvalue()


def _array_bytes(array: object) -> bytes:
    if not isinstance(array, np.ndarray):
        raise TypeError(f"no JSON: {array!r}")
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array).reshape(array.shape), (1, 0), allow_pickle=False)
    return out.getvalue()


def _places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place of a tree: what holds it, and its key there."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in list(items):
        yield node, key
        yield from _places(value)


def _mutate_place(root: Any, places: list[tuple[Any, Any]], rng: Random) -> None:
    """Change one place: an array or a parameter more often than others."""
    arrays = [place for place in places if isinstance(place[0][place[1]], np.ndarray)]
    content = root.get("content") if isinstance(root, dict) else None
    parameters = list(_places(content.get("parameters"))) if isinstance(content, dict) else []
    draw = rng.random()
    holder, key = rng.choice((draw < 0.5 and arrays) or (draw < 0.6 and parameters) or places)
    value, draw = holder[key], rng.random()
    if draw < 0.12:
        holder[key] = deepcopy(rng.choice(_EDGES))
    elif draw < 0.22:
        holder[key] = _taken(root, key, rng)
    elif draw < 0.27:
        source, name = rng.choice(places)
        holder[key], source[name] = deepcopy(source[name]), deepcopy(value)
    elif draw < 0.29:
        for _ in range(rng.choice((1, 40, 70))):
            holder[key] = [holder[key]]
    elif isinstance(value, np.ndarray):
        holder[key] = _mutated_array(value, rng)
    elif isinstance(value, bool | int | float):
        near = [value + 1, value - 1, -value, float(value), value * 2, value + 0.5, bool(value), str(value)]
        holder[key] = rng.choice([*near, *_EDGES])
    elif isinstance(value, str):
        texts = [h[k] for h, k in places if isinstance(h[k], str)]
        holder[key] = rng.choice([*texts, rng.choice(_words()), value[:-1], value + value[-1:], value.upper()])
    elif isinstance(value, list):
        _mutate_list(value, rng)
    elif isinstance(value, dict):
        _mutate_dict(value, rng)
    else:
        holder[key] = rng.choice([*_EDGES, rng.choice(_words())])


def _taken(root: Any, key: Any, rng: Random) -> Any:
    """Return what another file has under a key of that name."""
    other = rng.choice(_others())
    found = [h[k] for h, k in _places(other) if k == key and not isinstance(k, int)]
    return deepcopy(rng.choice(found)) if found else rng.choice(_EDGES)


@cache
def _words() -> list[str]:
    """Return the texts of all files: names of kinds, rules and options."""
    found = {h[k] for other in _others() for h, k in _places(other) if isinstance(h[k], str)}
    options = "gaussian kernel discretise state marginal cv bic auto position markov complement characters isotonic"
    return sorted(found | set(options.split()) | {p.stem for p in GOLDEN.glob("*.tb")})


def _mutate_list(value: list[Any], rng: Random) -> None:
    change, at = rng.randrange(7), rng.randrange(len(value) + 1)
    if change == 0:
        del value[at : at + rng.choice((1, 1, 2, 1000))]
    elif change == 1 and value:
        value[at:at] = deepcopy([value[at % len(value)]] * rng.choice((1, 1, 3, 300)))
    elif change == 2:
        rng.shuffle(value)
    elif change == 3:
        value.insert(at, deepcopy(rng.choice(_EDGES)))
    elif change == 4 and value:
        value[at % len(value)] = deepcopy(rng.choice(value))
    elif change == 5:
        value.reverse()
    else:
        value.extend(deepcopy(value))


def _mutate_dict(value: dict[str, Any], rng: Random) -> None:
    if not value:
        value["x"] = 1
        return
    one, two = rng.choice(list(value)), rng.choice(list(value))
    change = rng.randrange(4)
    if change == 0:
        del value[one]
    elif change == 1:
        value[one], value[two] = value[two], value[one]
    elif change == 2:
        value[rng.choice(_words())] = value.pop(one)
    else:
        value[rng.choice(("rule", "kind", "x", "$x", "name"))] = rng.choice(_words())


def _mutated_array(array: np.ndarray, rng: Random) -> np.ndarray:
    change = rng.randrange(18)
    if change > 13 and array.dtype.kind in "fi":
        return _redrawn(array, rng)
    if change < 5 and array.size and array.dtype.kind in "fiu":
        return _with_entries(array, rng)
    if change == 5:
        return array.reshape(
            rng.choice(
                ((-1,), (*array.shape, 1), (1, *array.shape), array.shape[::-1], (*array.shape, *[1] * 40))[
                    : 4 if array.ndim > 20 else 5
                ]
            )
        )
    if change == 6 and array.ndim:
        return array[: rng.randrange(len(array) + 1)]
    if change == 7 and array.ndim:
        return np.concatenate([array, array[: rng.choice((1, 1, len(array)))]])
    if change == 8:
        return array.astype(rng.choice(_TYPES))
    if change == 9 and array.size:
        return np.random.default_rng(rng.randrange(2**32)).permutation(array.reshape(-1)).reshape(array.shape)
    if change == 10 and array.dtype.kind in "fi":
        with np.errstate(all="ignore"):
            return (array * rng.choice((0, -1, 2, 0.5, 1e-300, 1e300, 1e150, np.nan))).astype(array.dtype)
    if change == 11:
        return array.swapaxes(0, -1) if array.ndim else array[None]
    if change == 12 and array.ndim:
        return array[..., : rng.randrange(array.shape[-1] + 1)]
    return array[::-1] if array.ndim else array


def _redrawn(array: np.ndarray, rng: Random) -> np.ndarray:
    """Return an array of the same type and shape, its entries drawn anew: equal, small, or of any size."""
    draws, shape, scale = np.random.default_rng(rng.randrange(2**32)), array.shape, rng.choice((1.0, 30.0, 690.0))
    if array.dtype.kind == "i":
        return draws.integers(0, rng.choice((1, 2, 4, 1000)), shape).astype(array.dtype)
    found = [np.full(shape, rng.choice(_FLOATS)), np.exp(draws.uniform(-scale, scale, shape)), draws.poisson(1, shape)]
    return (rng.choice(found) * draws.choice((0, 1, 1, 1), rng.choice((shape, ())))).astype(array.dtype)


def _with_entries(array: np.ndarray, rng: Random) -> np.ndarray:
    """Return an array with a few entries at the edges, or near what they were."""
    flat = array.reshape(-1).copy()
    for _ in range(rng.choice((1, 1, 2, 5, len(flat)))):
        at = rng.randrange(len(flat))
        if flat.dtype.kind == "f":
            flat[at] = rng.choice((*_FLOATS, -flat[at], flat[at] + 1, flat[at] * 1e10, flat[rng.randrange(len(flat))]))
        else:
            info = np.iinfo(flat.dtype)
            near = (0, 1, 2, info.max, info.min, int(flat[at]) + 1, int(flat[at]) - 1, len(flat), 10**6, 2**30)
            flat[at] = min(max(rng.choice(near), info.min), info.max)
    return flat.reshape(array.shape)


# Use


def check_rows(found: Any) -> None:
    """Raise AssertionError unless every row is a distribution: finite, between 0 and 1, with a sum of 1."""
    table = np.atleast_2d(np.asarray(found, np.float64))
    with np.errstate(all="ignore"):
        good = np.isfinite(table).all() and (table >= 0).all() and (table <= 1 + 1e-9).all()
        if not (good and np.allclose(table.sum(axis=1), 1, rtol=0, atol=1e-6)):
            raise AssertionError(f"rows must be distributions; got {table[:4].tolist()}")


def use_model(path: Path) -> None:
    """Load a model and ask it everything; what it refuses it must refuse with an error of the package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tb.load(path)
        (_use_network if isinstance(model, tb.BayesianNetwork) else _use_classifier)(model, path)


def _use_network(net: Any, path: Path) -> None:
    for answer in net.posteriors().values():
        _check_answer(answer)
    rows = net.sample(3, random_state=0)
    first = {name: values[0] for name, values in rows.to_pandas().items()}
    for name in net.nodes:
        _tried(lambda name=name: _check_answer(net.posterior(name, {k: v for k, v in first.items() if k != name})))
    _not_nan(net.log_likelihood(rows))
    _tried(lambda: net.update(rows).posteriors())
    _tried(lambda: net.impute({name: [None, value] for name, value in first.items()}))
    net.write(path.with_name("again.tb"))
    tb.load(path.with_name("again.tb"))


def _check_answer(answer: Any) -> None:
    if isinstance(answer, tb.Distribution):
        check_rows([list(answer.values())])
    else:
        _not_nan([answer.mean, answer.variance] if hasattr(answer, "variance") else [])


def _not_nan(values: Any) -> None:
    if np.isnan(np.asarray(values, np.float64)).any():
        raise AssertionError(f"answers must be numbers; got {values}")


def _tried(question: Callable[[], Any]) -> None:
    """Ask a question that a model may refuse."""
    with suppress(TunbridgeError):
        question()


def _use_classifier(model: Any, path: Path) -> None:
    rows, draw = _rows_for(model), Random(zlib.crc32(path.read_bytes()))
    model.n_jobs = 1  # the pool of threads takes longer than a few rows
    check_rows(found := model.predict_proba(rows))
    _not_nan(model.predict_log_proba(rows))
    questions: list[Callable[[], Any]] = [
        lambda: model.predict(rows),
        lambda: str(model),
        lambda: str(model.explain(rows)),
        lambda: str(model.importance()),
        lambda: model.what_if(rows),
        lambda: _check_again(model, path, rows, found),
    ]
    for question in draw.sample(questions, 2):  # two of them, because most inputs are close to others
        _tried(question)
    if draw.random() < 0.3:
        _tried(lambda: _check_continued(model, rows))


def _check_again(model: Any, path: Path, rows: Any, found: np.ndarray) -> None:
    model.save(path.with_name("again.tb"))
    if not np.allclose(tb.load(path.with_name("again.tb")).predict_proba(rows), found, rtol=0, atol=1e-9):
        raise AssertionError("a model must answer the same after it was saved")


def _check_continued(model: Any, rows: Any) -> None:
    if hasattr(model, "partial_fit"):
        model.partial_fit(_first(rows, 3), [model.classes_[-1], model.classes_[0], model.classes_[0]])
        check_rows(model.predict_proba(rows))


def _first(rows: Any, n: int) -> Any:
    return {name: values[:n] for name, values in rows.items()} if isinstance(rows, dict) else rows[:n]


def _rows_for(model: Any) -> Any:
    """Return four rows: of first states, of last states, of missing and of unseen values; or texts or sequences."""
    inner = model
    while hasattr(inner, "estimator_"):
        inner = inner.estimator_
    if isinstance(inner, tb.TextClassifier):
        return ["win a prize", "lunch at noon, at noon", "", "ünseen"]
    if isinstance(inner, tb.SequenceClassifier):
        length, letters = inner.statistics_.length, list(inner.statistics_.alphabet)[:4] or ["a"]
        sizes = (length, length, 0, length) if length and length < 1000 else (5, 3, 0, 2)
        return [[letters[(i * k) % len(letters)] for i in range(size)] for k, size in enumerate(sizes)]
    return {v.name: _cells(v) for v in model.variables_} or {"x": [1.0, 2.0, None, 0.0]}


def _cells(variable: tb.Variable) -> list[Any]:
    if not variable.states:
        return [0.7, -3.0, None, 1e6]
    first, last = variable.states[0], variable.states[-1]
    return [first, last, None, "ünseen" if isinstance(first, str) else first]
