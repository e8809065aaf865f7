"""Label files by name or suffix: `make("parquet").read("fpc.parquet")`, `for_path("fpc.csv")`."""

from simkit.labels.formats.base import Format, for_path, get, make, names, register

__all__ = ["Format", "register", "names", "make", "get", "for_path"]
