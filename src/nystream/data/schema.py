"""The description of a table: names and kinds of its columns, its target, its task and its classes."""

from __future__ import annotations

import difflib
import warnings
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, islice
from operator import itemgetter
from typing import Any

import numpy as np

from nystream._core.inputs import all_finite
from nystream.data.batch import NUMERIC, Batch
from nystream.data.cells import decimal_mark
from nystream.data.frames import Chunks, frame_columns, join_columns, matrix_of
from nystream.data.inputs import RawBlock, as_block, raw_block, rows_at_once
from nystream.data.kinds import ID_NOTE, KINDS, LOOK, look_at
from nystream.data.places import Place
from nystream.data.reading import Table, read
from nystream.data.sparse_rows import NARROW, SparseRows, as_sparse_rows, is_sparse
from nystream.data.targets import target_columns
from nystream.data.task import TASKS, choose_task
from nystream.data.values import convert
from nystream.runtime.params import Params, at_least, one_of
from nystream.runtime.types import Array

__all__ = ["Schema"]


class Schema(Params):
    """The description of a table: names, order and kinds of columns, and the target. It is immutable.

    Parameters
    ----------
    columns : dict of name to kind, or list of names
        Kinds: "number", "boolean", "category", "time", "text", "ignored". A list: all are numbers.
    target : str, list of str, or None
        The name of the target; several targets are numbers.
    task : "regression", "classification", "novelty" or None
        None: inferred from the first labels by `nystream.data.task.choose_task`.
    classes : list or None
        Classes that are known beforehand, in order. Others may still appear.
    width : int or None
        For sparse rows: the number of columns, which have no names. `columns` is then empty.
    formats : dict of name to str, or None
        Formats of ambiguous strings of a column. Of times the order of day and month in dates
        such as 01/02/2023: "day-first" or "month-first" (the default), or a format as in `datetime.strptime`. Of
        numbers, the target's too, the decimal mark: "," or "." (the default).

    Examples
    --------
    >>> from nystream import Schema
    >>> rows = [{"temp": 21.5, "open": True, "when": "2024-05-01", "load": 3.2}, {"temp": None, "load": 3.9}]
    >>> print(Schema.of(rows, target="load"))
    temp  number   21.5        50% missing
    open  boolean  True        50% missing
    when  time     2024-05-01  50% missing
    load  target, regression
    """

    looks_: dict[str, list[Any]]
    """For a schema inferred from a table: an example, the missing share and a note for each column."""

    def __init__(
        self,
        columns: Mapping[str, str] | Iterable[str],
        target: str | Sequence[str] | None = None,
        task: str | None = None,
        classes: Sequence[Any] | None = None,
        *,
        width: int | None = None,
        formats: Mapping[str, str] | None = None,
    ) -> None:
        self.width = None if width is None else at_least("width", width, 1)
        self.columns = _checked_columns(columns) if width is None else _no_columns(columns)
        self.target = target if target is None or isinstance(target, str) else list(target)
        self.task = None if task is None else one_of("task", task, TASKS)
        self.classes = None if classes is None else list(classes)
        self.formats = None if formats is None else dict(formats)
        self._check_target()
        self._used = [name for name, kind in self.columns.items() if kind != "ignored"]
        self._kinds = {name: self.columns[name] for name in self._used}
        self._numeric = all(kind in NUMERIC for kind in self._kinds.values())
        self._known = frozenset((*self.columns, *self.targets))
        self._plain = all(kind == "number" for kind in self.columns.values())

    # -- properties ------------------------------------------------------------------------------------------------
    @property
    def names(self) -> list[str]:
        """The columns in use, in order."""
        return list(self._used)

    @property
    def targets(self) -> list[str]:
        """Names of the targets: none, one or several."""
        return [] if self.target is None else [self.target] if isinstance(self.target, str) else list(self.target)

    @property
    def known(self) -> list[str]:
        """All columns, including ignored ones, and the targets."""
        return [*self.columns, *(name for name in self.targets if name not in self.columns)]

    @property
    def ids(self) -> list[str]:
        """Columns that are ignored because all their first values differ."""
        looks = getattr(self, "looks_", {})
        ignored = (name for name in looks if self.columns.get(name) == "ignored")
        return [name for name in ignored if looks[name][2].startswith(ID_NOTE)]

    @property
    def numeric(self) -> bool:
        """Whether every column in use is a number or a boolean."""
        return self._numeric

    @property
    def kinds(self) -> list[str] | None:
        """Kinds of the columns in use; None for sparse rows."""
        return None if self.width is not None else [self.columns[name] for name in self.names]

    def __str__(self) -> str:
        looks = getattr(self, "looks_", {})
        rows = []
        for name, kind in self.columns.items():
            example, missing, note = looks.get(name, ("", 0.0, ""))
            shown = "id" if note.startswith(ID_NOTE) else kind
            about = [f"{missing:.0%} missing"] if missing > 0 else []
            rows.append((name, shown, example, ", ".join([*about, *([note] if note else [])])))
        for name in self.targets:
            task = f", {self.task}" if self.task else ""
            classes = f" of {', '.join(map(str, self.classes[:20]))}" if self.classes else ""
            rows.append((name, f"target{task}{classes}", "", ""))
        described = [row for row in rows if not row[1].startswith("target")]
        widths = [max((len(row[j]) for row in described), default=0) for j in range(4)]
        widths[0] = max((len(row[0]) for row in rows), default=0)
        wide = [] if self.width is None else [f"{self.width:,} columns of sparse rows"]
        lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows)
        return "\n".join([*wide, *lines])

    # -- made from a table -----------------------------------------------------------------------------------------
    @classmethod
    def of(
        cls,
        table: Any,
        target: str | Sequence[str] | None = None,
        kinds: Mapping[str, str] | None = None,
        drop: str | Iterable[str] | None = None,
        *,
        columns: Sequence[str] | None = None,
        task: str | None = None,
        y: Any = None,
        day_first: bool = False,
    ) -> Schema:
        """Infer the schema of a table from its types and its first 1,000 rows.

        Parameters
        ----------
        table : frame, Arrow table, dicts, structured array or matrix
        target : name or names of the columns to predict; None: there is none
        kinds : dict of name to kind
            Known kinds of columns.
        drop : names of columns to ignore
        columns : names of the only columns to use, in this order; None: all
        task : as in `Schema`; None: told from the target where it is in the table, or from `y`
        y : labels of the rows, where the target is not among the columns
        day_first : whether 01/02/2023 is the first of February, in columns where no date shows the order

        A column of single tokens that are all different, such as an id, is ignored.
        """
        if is_sparse(table):
            return cls._of_sparse(table, (kinds, drop, columns), target, task, y)
        found = read(table)
        asked, dropped = dict(kinds or {}), [drop] if isinstance(drop, str) else list(drop or ())
        targets = [] if target is None else [target] if isinstance(target, str) else list(target)
        _check_names([*asked, *dropped, *(columns or ()), *(targets if y is None else ())], found)
        both = [name for name in targets if name in (columns or ())]
        if both:
            raise ValueError(f"column {both[0]!r} is both a target and an input; leave it out of one of them")
        formats: dict[str, str] = {}
        chosen: dict[str, str] = {}
        looks: dict[str, list[Any]] = {}
        order = [*columns, *(name for name in found.columns if name not in columns)] if columns else found.columns
        for name in order:
            if name in targets:
                mark = found.marks.get(name) or decimal_mark(islice(found.columns[name], LOOK))
                if mark == ",":
                    formats[name] = mark
                continue
            unused = name in dropped or (columns is not None and name not in columns)
            given = "ignored" if unused else asked.get(name) or found.kinds.get(name)
            title = "" if name in asked else name
            look = look_at(found.columns[name], given, title, mark=found.marks.get(name), day_first=day_first)
            if look.kind == "nested":
                raise ValueError(f"column {name!r} holds lists or dicts ({look.example}); drop it, or unfold it first")
            chosen[name], looks[name] = look.kind, [look.example, look.missing, look.note]
            if look.format is not None:
                formats[name] = look.format
        _keep_some(chosen, looks)
        labels = target_columns(y, found.n) if y is not None else [found.labels(name) for name in targets]
        if task is None and labels and found.n:
            task = _task_of(labels)
        schema = cls(chosen, target, task, formats=formats or None)
        schema.looks_ = looks
        return schema

    @classmethod
    def _of_sparse(cls, table: Any, chosen: tuple[Any, ...], target: Any, task: str | None, y: Any) -> Schema:
        if any(chosen):
            raise ValueError("columns of sparse rows have no names; choose among them before")
        n, d = table.shape
        if task is None and y is not None and n:
            task = _task_of(target_columns(y, n))
        if d <= NARROW:
            return cls([str(j) for j in range(d)], target, task)
        return cls({}, target, task, width=d)

    def described(self, **changes: Any) -> Schema:
        """Return the same schema with other parameters."""
        twin = type(self)(**{**self.get_params(deep=False), **changes})
        twin._restore(self._state())
        return twin

    # -- parsing ----------------------------------------------------------------------------------------------------
    def parse(
        self,
        rows: Any,
        *,
        on_error: str = "raise",
        report: Callable[[list[str]], None] | None = None,
        report_missing: Callable[[Table], None] | None = None,
    ) -> Batch:
        """Return rows of any origin as a batch with the columns of this schema.

        Parameters
        ----------
        rows : frame, Arrow table, dicts, one dict, structured array, matrix, sparse matrix, or batch
            A batch is returned as it is.
        on_error : "raise" or "missing"
            A value that does not fit its column is an error that names row, column and value; or it counts as missing,
            and the batch has the number of such values in `bad_cells`.
        report : callable
            Called with the names of the columns that the schema does not know. Without it they are named in a warning.
        report_missing : callable
            Called with a table before its columns are converted, where not all rows are plainly numbers.
        """
        if isinstance(rows, Batch):
            return self._checked_batch(rows)
        one_of("on_error", on_error, ("raise", "missing"))
        X = None if isinstance(rows, Table) else self._numbers(rows)
        if X is not None:
            return Batch.of_numbers(X, self._kinds)
        table = read(rows)
        if report_missing is not None:
            report_missing(table)
        X = self.unconverted(table)
        if X is not None:
            return Batch.of_numbers(X, self._kinds, places=table.places)
        table = self.matched(table, report or _warn)
        columns, bad_cells = self._typed(table, on_error)
        return self.batch(columns, table.n, places=table.places, bad_cells=bad_cells)

    def batch(
        self,
        columns: Mapping[str, Any],
        n: int | None = None,
        *,
        places: Sequence[Place] | None = None,
        bad_cells: int = 0,
    ) -> Batch:
        """Return the batch of typed columns that are all there, as `columns_of` gives them."""
        if not self._numeric:
            return Batch(columns, self._kinds, n, places=places, bad_cells=bad_cells)
        X = np.empty((len(columns[self._used[0]]) if n is None else n, len(self._used)))
        for j, name in enumerate(self._used):
            X[:, j] = columns[name]
        return Batch.of_numbers(X, self._kinds, places=places, bad_cells=bad_cells)

    def _checked_batch(self, batch: Batch) -> Batch:
        """Raise an error for a batch that was parsed for another schema."""
        if self.width is not None:
            is_own = batch.shape[1] == self.width
        else:
            is_own = batch.kinds is self._kinds or batch.kinds == self._kinds
        if not is_own:
            raise ValueError(
                f"the rows were parsed for the columns {_listed(list(batch.kinds))}, the schema has "
                f"{_listed(self.names)}; parse them again"
            )
        return batch

    def _numbers(self, rows: Any) -> Any:
        """Return rows that are plainly numbers as a matrix, as sparse rows, or still to be converted; else None."""
        X = self.as_numbers(rows)
        return X if isinstance(X, RawBlock) else self.matrix(X)

    def _typed(self, table: Table, on_error: str) -> tuple[dict[str, Any], int]:
        """Return the typed columns of a table by name, and how many values did not fit."""
        found: dict[str, Any] = {}
        bad_cells = 0
        for name in self._used:
            kind = self.columns[name]
            if name not in table.columns:
                found[name] = _absent(kind, table.n)
                continue
            found[name], bad = convert(
                table.columns[name],
                kind,
                name,
                place=table.place,
                tolerant=on_error == "missing",
                format=self.format_of(name, table),
            )
            bad_cells += bad
        return found, bad_cells

    def columns_of(
        self, rows: Any, *, on_error: str = "raise", report: Callable[[list[str]], None] | None = None
    ) -> tuple[dict[str, Any], int, int]:
        """Return typed columns by name, the number of rows, and how many values did not fit.

        Numbers and booleans are float64 with nan for missing, times datetime64[us], categories and text arrays of str
        and None. A column that is not there is missing values. Parameters as in `parse`.
        """
        table = self.matched(rows, report or _warn)
        columns, bad_cells = self._typed(table, one_of("on_error", on_error, ("raise", "missing")))
        return columns, table.n, bad_cells

    def format_of(self, name: str, table: Any = None) -> str | None:
        """Return the format of the strings of a column or target, from its file or from this schema."""
        shown = table.marks.get(name) if isinstance(table, Table) else None
        known = (self.formats or {}).get(name)
        return known if self.columns.get(name) == "time" else shown or known

    def matched(self, rows: Any, report: Callable[[list[str]], None]) -> Table:
        """Return the table with the names of this schema. Columns of a matrix are in the schema's order."""
        table = read(rows)
        if not table.named:
            if not table.columns and table.n == 0:
                return Table({}, 0)
            return table.renamed(self._by_place(len(table.columns)))
        unknown = [name for name in table.columns if name not in self._known]
        if unknown:
            report(unknown)
        return table

    def _by_place(self, d: int) -> list[str]:
        """Return the names for d unnamed columns, of a matrix or of a file without a header."""
        every = self.known
        if set(every) == {str(j) for j in range(len(every))}:  # names are places: the schema is of such a file itself
            places = [str(j) for j in range(len(every))]
            for order in (places, [name for name in places if name not in self.targets]):
                if len(order) == d:
                    return order
        for order in (self.names, list(self.columns)):
            if len(order) == d:
                return order
        hint = ""
        if self.targets and d == len(every):
            hint = f"; leave out the target {_listed(self.targets)}, or give names to the columns"
        raise ValueError(
            f"rows have {d} columns without names, the schema has {len(self.names)}: {_listed(self.names)}{hint}"
        )

    def matrix(self, rows: Any) -> Any:
        """Return a block of numbers (n, d) as it is, if no column needs conversion; else None.

        With a schema of sparse rows, they are sparse rows.
        """
        if is_sparse(rows):
            if self.width is not None:
                return as_sparse_rows(rows, self.width, "rows")
            rows = rows.toarray()
            if rows.shape[1] != len(self._used):
                raise ValueError(f"rows are sparse with {rows.shape[1]} columns, the schema has {len(self._used)}")
        elif self.width is not None:
            dense = isinstance(rows, np.ndarray) and rows.ndim == 2 and rows.shape[1] == self.width
            if not dense:
                raise ValueError(f"rows of this model are sparse, with {self.width} columns; got {type(rows).__name__}")
            return SparseRows.of_dense(as_block(rows, self.width, "rows"))
        elif isinstance(rows, (list, dict)):
            row = self.row(rows) if isinstance(rows, dict) else self.row(rows[0]) if len(rows) == 1 else None
            return None if row is None else row[None]
        if not isinstance(rows, np.ndarray) or rows.ndim != 2 or rows.dtype.kind not in "iuf":
            return None
        if not self._plain or rows.shape[1] != len(self._used):
            return None
        X = np.ascontiguousarray(rows, dtype=np.float64)
        return X if all_finite(X) or not np.isinf(X).any() else None

    def unconverted(self, rows: Any) -> RawBlock | None:
        """Return many rows of numbers that `matrix` would have to copy: a matrix of another type or order, or columns
        of numbers. They are converted when they are taken. Return None where `matrix` applies.
        """
        if not self._plain or self.width is not None:
            return None
        found = rows if isinstance(rows, RawBlock) else None
        if isinstance(rows, np.ndarray) and rows.dtype.kind != "b":
            found = raw_block(rows, missing=True, infinite=True)
        elif isinstance(rows, Table):
            found = self._beside(rows.columns, rows.n, rows.named)
        elif found is None:
            columns = frame_columns(rows) if _are_many(*getattr(rows, "shape", ())) else None
            found = None if columns is None else self._beside(columns, len(rows))
        if found is None or found.shape[1] != len(self._used):
            return None
        return found if found.look() else None

    def as_numbers(self, rows: Any) -> Any:
        """Return `unconverted` rows, or the matrix of dicts or of a frame whose columns are those of the schema; else
        the rows themselves.
        """
        if isinstance(rows, list):
            X = _matrix_of_dicts(rows, self._used) if self._plain else None
            return rows if X is None else X
        alike = self._plain and [str(name) for name in getattr(rows, "columns", ())] == self._used
        matrix = matrix_of(rows) if alike else None
        shown = rows if matrix is None else matrix
        found = self.unconverted(shown)
        return shown if found is None else found

    def _beside(self, columns: Mapping[str, Any], n: int, named: bool = True) -> RawBlock | None:
        """Return many rows of exactly these columns of numbers, for conversion in parts."""
        known: list[Any] = [columns.get(name) for name in self._used] if named else list(columns.values())
        if not _are_many(n, len(known)) or (named and not columns.keys() <= self._known):
            return None
        if not all(isinstance(c, Chunks) or (isinstance(c, np.ndarray) and c.dtype.kind in "iuf") for c in known):
            return None
        return RawBlock((n, len(known)), join_columns(known), sources=known)

    def row(self, row: Any) -> Array | None:
        """Return a dict as a row of numbers (d,), if all its values are plain numbers; else None."""
        if not isinstance(row, dict) or len(row) > len(self._known) or not self._numeric:
            return None
        try:
            x = np.frombuffer(array("d", [row[name] for name in self._used]), dtype=np.float64)
        except (KeyError, TypeError, OverflowError):
            return None
        known = len(x) and (len(row) == len(x) or row.keys() <= self._known)
        return x if known and all_finite(x) else None

    def check_learner(self, takes_tables: bool) -> None:
        """Raise an error if the learner takes only numbers and a column is of another kind."""
        if self.numeric or takes_tables:
            return
        other = next(name for name in self.names if self.columns[name] not in NUMERIC)
        raise ValueError(
            f"column {other!r} is of kind {self.columns[other]!r}, which this learner cannot take; drop it "
            f"(drop=[{other!r}]), or wrap the learner in Encoded"
        )

    def _check_target(self) -> None:
        for name in self.targets:
            if not isinstance(name, str) or not name:
                raise ValueError(f"target must be a name or names, got {self.target!r}")
            if self.columns.get(name, "ignored") != "ignored":
                raise ValueError(f"target {name!r} is among the columns too; what is predicted cannot be an input")
        if self.target is not None and not self.targets:
            raise ValueError("target is an empty list; use None where there is none")
        if len(self.targets) > 1 and self.task not in (None, "regression"):
            raise ValueError(f"several targets are regression, not {self.task}")


def _task_of(labels: list[Any]) -> str | None:
    """Return the task inferred from the labels, or None without labels."""
    choice = choose_task(labels)
    return None if choice is None else choice.task


def _checked_columns(columns: Any) -> dict[str, str]:
    if isinstance(columns, (str, bytes)):
        raise ValueError(f"columns must be a dict of name to kind, or a list of names; got {columns!r}")
    found = dict(columns) if isinstance(columns, Mapping) else dict.fromkeys(columns, "number")
    for name, kind in found.items():
        if not isinstance(name, str):
            raise ValueError(f"columns must have names of type str, got {name!r}")
        if kind not in KINDS:
            one_of(f"kind of column {name!r}", kind, KINDS)
    if all(kind == "ignored" for kind in found.values()):
        raise ValueError("columns has none that is not ignored; at least one is needed")
    return found


def _no_columns(columns: Any) -> dict[str, str]:
    if len(list(columns)):
        raise ValueError("columns of sparse rows have no names: with width, columns must be empty")
    return {}


def _keep_some(chosen: dict[str, str], looks: dict[str, list[Any]]) -> None:
    """Make ids categories if no other column is left."""
    if any(kind != "ignored" for kind in chosen.values()):
        return
    for name, look in looks.items():
        if look[2]:
            chosen[name], look[2] = "category", ""


def _check_names(asked: Iterable[str], table: Table) -> None:
    for name in asked:
        if name not in table.columns and (table.n or table.columns):
            near = difflib.get_close_matches(str(name), table.columns, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ValueError(f"there is no column {name!r}; {hint}there are {_listed(list(table.columns))}")


def _listed(names: list[str]) -> str:
    shown = ", ".join(names[:30])
    return shown if len(names) <= 30 else f"{shown}, ... ({len(names)} in all)"


def _are_many(*shape: int) -> bool:
    """Return whether rows of this shape are converted in several parts."""
    return len(shape) == 2 and shape[0] > rows_at_once(shape[1])


def _absent(kind: str, n: int) -> Any:
    if kind == "time":
        return np.full(n, np.datetime64("NaT"), dtype="datetime64[us]")
    return np.full(n, np.nan) if kind in NUMERIC else np.full(n, None, dtype=object)


def _warn(names: list[str]) -> None:
    warnings.warn(f"columns that the schema does not know are left out: {_listed(names)}", UserWarning, stacklevel=4)


def _matrix_of_dicts(rows: Sequence[Any], names: list[str]) -> Array | None:
    """Return dicts of finite numbers with exactly these columns as a matrix (n, d); else None."""
    if len(names) < 2 or len(rows) < 2 or set(map(type, rows)) != {dict} or set(map(len, rows)) != {len(names)}:
        return None
    try:
        numbers = array("d", chain.from_iterable(map(itemgetter(*names), rows)))
    except (KeyError, TypeError, OverflowError):
        return None
    X = np.frombuffer(numbers, dtype=np.float64).reshape(len(rows), -1)
    return X if all_finite(X) or not np.isinf(X).any() else None
