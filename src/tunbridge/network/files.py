"""Networks from files."""

from __future__ import annotations

from os import PathLike

from tunbridge.formats import read_network_parts
from tunbridge.network.network import BayesianNetwork


def read_network(path: str | PathLike[str], format: str | None = None) -> BayesianNetwork:
    """Return the network in a file.

    Parameters
    ----------
    path : path
        A file in BIF, XMLBIF (``.xmlbif``, ``.xml``, ``.bifxml``), Hugin NET, DSC or UAI, each also gzipped, with
        ``.gz`` behind; or Tunbridge's own ``.tb``, which is packed already.
    format : {"bif", "xmlbif", "net", "dsc", "uai", "tb"}, optional
        What it is, when the suffix does not tell.

    Raises
    ------
    FormatError
        When the file is damaged, with line and column.

    Examples
    --------
    >>> import tempfile, pathlib, tunbridge as tb
    >>> rain = tb.BayesianNetwork({"Rain": ["no", "yes"]}, [], {"Rain": [0.8, 0.2]})
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "rain.bif"
    >>> rain.write(file)
    >>> tb.read_network(file)
    BayesianNetwork: 1 variable, 0 arcs, 1 parameter
    """
    parts = read_network_parts(path, format)
    return BayesianNetwork.from_tables(parts.cpts, name=parts.name, properties=parts.properties)
