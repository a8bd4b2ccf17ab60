"""The frequent commands for the writer: learn rows, remember a prediction, learn its label, forget rows."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Any, NamedTuple

from nystream.serve import learning
from nystream.serve.form import Form, one_line
from nystream.serve.json_text import to_json
from nystream.serve.log import Damaged, Full, is_disk_error
from nystream.serve.models import Entry
from nystream.serve.parts import Part
from nystream.serve.recovery import restore
from nystream.serve.refusals import Refusal, report_failure
from nystream.serve.rows import LoggedRows
from nystream.serve.scheduling import Slices, complete
from nystream.serve.store import Store
from nystream.serve.writer import Command, Writer

__all__ = ["Bring", "Label", "Learn", "Remember", "Replayed", "Source", "Unlearn"]


class Replayed(bytes):
    """An answer that was given before, to the first request with the same idempotency key."""


class Event(Command):
    """A command that becomes an event of one model: logged with its idempotency key, answered once and for all."""

    kind = "learn"
    is_known = False
    """Whether all its rows were learnt before, so that there is nothing to log."""

    def __init__(self, entry: Entry, key: str | None, idempotency: str | None, digest: bytes) -> None:
        self.entry, self.key, self.idempotency, self.digest = entry, key, idempotency, digest
        self.line = entry
        self.at = time.time()
        self.batch: LoggedRows | None = None
        self._repeat: tuple[int, bytes | None] | None = None
        self._new_classes: set[Any] = set()
        self.seq = 0

    @property
    def what(self) -> str:
        return f"{self.kind} of model {self.entry.name!r}"

    def undo(self, store: Store) -> None:
        self.entry.classes -= self._new_classes

    def prepare(self, store: Store) -> None:
        if self.idempotency is not None and self._answered(store):
            return
        self.entry.check_ready()
        self.check(store)
        if self.is_known:
            return
        assert self.batch is not None
        self._check_limits(store)
        self.batch.piece = self.entry.champion.piece
        self.seq = store.log.append(self.entry.id, self.key, self.kind, self.batch.pack(), self.at)
        if self.idempotency is not None:
            store.log.promise(self.idempotency, self.seq, self.digest)

    def check(self, store: Store) -> None:
        """Make sure that the event can be applied, or raise Refusal having written nothing."""
        raise NotImplementedError

    def _answered(self, store: Store) -> bool:
        assert self.idempotency is not None
        try:
            found = store.log.answered(self.idempotency)
        except Damaged as error:
            store.find_fault(str(error))
            raise Refusal(409, f"the answer to Idempotency-Key {self.idempotency[:60]!r} is damaged: {error}") from None
        if found is None:
            return False
        seq, digest, body = found
        if digest != self.digest:
            raise Refusal(422, f"Idempotency-Key {self.idempotency[:60]!r} was used for another request")
        self._repeat = (seq, body)
        return True

    def _written(self, store: Store) -> bytes | None:
        """Return the answer to the first request with this key, if it came into the log since `prepare`."""
        found = None if self.idempotency is None else store.log.answered(self.idempotency)
        return None if found is None else found[2]

    def _check_limits(self, store: Store) -> None:
        limits, entry = store.settings.limits, self.entry
        assert self.batch is not None
        if isinstance(self.batch.labels, list):
            new = {name for name in self.batch.labels if name is not None} - entry.classes
            if len(entry.classes) + len(new) > limits.classes:
                raise Refusal(422, f"the model would have more than {limits.classes} classes; is the label a number?")
            self._new_classes = new
            entry.classes |= new
        if self.key is not None and entry.keys >= limits.keys and not store.keyed.knows(entry, self.key):
            raise Refusal(429, f"the model has {limits.keys} keys, which is the most it may have")

    def apply(self, store: Store) -> Any:
        return complete(self.apply_in_slices(store))

    def apply_in_slices(self, store: Store) -> Slices[Any]:
        if self._repeat is not None:
            seq, body = self._repeat
            body = body if body is not None else store.answers.get(seq) or self._written(store)
            if body is None:  # the first one of this group failed
                raise Refusal(409, "the request with this Idempotency-Key was refused")
            return Replayed(body)
        self.entry.check_ready()  # an event before it may have shown that something is damaged
        assert self.batch is not None
        try:
            found = store.apply_in_slices(self.entry, self.key, self.kind, self.batch, self.at, self.seq)
            answer = to_json((yield from found))
        except Exception as error:
            if is_disk_error(error):
                raise
            store.doomed.append(self.seq)
            with suppress(Full):
                with store.log.transaction():
                    store.write_pending(self.at)
                store.pending_written()
            restore(store, self.entry, self.seq)
            if not isinstance(error, ValueError | TypeError):
                raise report_failure(error, self.what) from error
            raise Refusal(422, f"the learner cannot learn these rows: {one_line(error)}") from error
        if self.idempotency is not None:
            store.answers[self.seq] = answer
        return answer


class Source(NamedTuple):
    """Where rows come from: a stream with a name, the number of rows before these, and a mark of the last one."""

    name: str
    position: int
    mark: str


class Learn(Event):
    """Rows with labels. `table` as the request had it, or rows checked already in `batch`."""

    def __init__(
        self,
        entry: Entry,
        key: str | None,
        idempotency: str | None,
        digest: bytes,
        *,
        step: bool,
        table: Any,
        labels: Any,
        weights: Any,
        batch: LoggedRows | None,
        count: int = 1,
        opened: tuple[Any, Form] | None = None,
        source: Source | None = None,
    ) -> None:
        super().__init__(entry, key, idempotency, digest)
        self.kind = "step" if step else "learn"
        self._table, self._labels, self._weights = table, labels, weights
        self.batch = batch
        self._proposed = opened
        """The model and the form that these rows suggest, if the request found the model without."""
        self._source = source
        self._before = (0, "")
        """Position and mark of the source before these rows."""
        self._skipped = 0
        """Rows at the beginning that were learnt before."""
        self._opened = False
        self.rows = count if batch is None else batch.n
        self.size = 100 * count if batch is None else batch.nbytes

    @property
    def only_appends(self) -> bool:  # type: ignore[override]
        return self.batch is not None and self._source is None

    def check(self, store: Store) -> None:
        if self.batch is None:
            if self.entry.form is None:
                self._tell(store)
            assert self.entry.form is not None
            self.batch = self.entry.form.batch(self._table, self._labels, self._weights, lambda names: None)
        if self._source is not None:
            self._skip_known(store, self._source)

    def _skip_known(self, store: Store, source: Source) -> None:
        """Drop the rows of the source that were learnt before; note, with the others, how far it is learnt."""
        assert self.batch is not None
        n, key = self.batch.n, self.key or ""
        self._before = store.log.position(self.entry.id, key, source.name)
        known = self._before[0]
        if source.position > known:
            raise Refusal(
                409,
                f"source {source.name[:60]!r} is learnt up to row {known}; these rows begin after {source.position}",
            )
        self._skipped = min(known - source.position, n)
        if self._skipped < n:
            self.batch = self.batch.part(slice(self._skipped, n))
            store.log.move(self.entry.id, key, source.name, source.position + n, source.mark, self.at)
        self.is_known = self._skipped == n

    def apply_in_slices(self, store: Store) -> Slices[Any]:
        if self.is_known:
            part = store.part_of(self.entry, self.key)
            row = part.model.n_seen if part.model is not None else 0
            return to_json({"row": row, "event": store.log.seq, "skipped": self._skipped})
        try:
            answer: bytes = yield from super().apply_in_slices(store)
        except Refusal:
            if self._source is not None and self._repeat is None:
                store.rewound.append((self.entry.id, self.key or "", self._source.name, *self._before, self.at))
            raise
        if self._skipped:
            answer = answer[:-1] + b',"skipped":%d}' % self._skipped
        return answer

    def _tell(self, store: Store) -> None:
        """Write what the rows of a model are, which its first labelled rows tell."""
        model, form = self._proposed or learning.opened(self.entry.config, self._table, self._labels)
        form.batch(self._table, self._labels, self._weights, lambda names: None)  # refuses before anything is written
        self._opened = True
        write_form(store, self.entry, model, form)
        store.log.settle([store.log.append(self.entry.id, None, "told", b"", self.at)])  # copies elsewhere begin anew

    def undo(self, store: Store) -> None:
        super().undo(store)
        if self._opened:
            self._opened = False
            self.entry.untell()


def write_form(store: Store, entry: Entry, model: Any, form: Form) -> None:
    """Enter what rows are into the open transaction, and into memory."""
    described = to_json(form.described()).decode()
    store.log.update("model", entry.id, pattern=learning.saved(model), form=described)
    entry.tell(model, form)


class Label(Event):
    """Late labels: the rows as they were predicted, and what had been predicted for them."""

    kind = "label"

    def __init__(
        self, entry: Entry, key: str | None, idempotency: str | None, digest: bytes, ids: list[str], labels: list[Any]
    ) -> None:
        super().__init__(entry, key, idempotency, digest)
        self._ids, self._labels = ids, labels
        self.rows, self.size = len(ids), 1000 * len(ids)

    def check(self, store: Store) -> None:
        form = self.entry.form
        found = []
        for name in self._ids:
            body = store.log.waits(self.entry.id, self.key or "", name)
            if body is None:
                raise Refusal(404, f"no prediction with id {name[:60]!r} waits for a label: it has one, or is too old")
            if form is not None:
                found.append(LoggedRows.unpack(body, form.kinds))
        if form is None:
            raise Refusal(
                409, "the model has learnt nothing yet: nobody knows what its labels are; learn some rows first"
            )
        try:
            self.batch = LoggedRows.joined(found)
            self.batch.labels = form.labels(self._labels, self.batch.n)
        except (ValueError, TypeError) as error:
            raise Refusal(422, one_line(error)) from None
        for name in self._ids:
            store.log.labelled(self.entry.id, self.key or "", name)

    def apply_in_slices(self, store: Store) -> Slices[Any]:
        answer = yield from super().apply_in_slices(store)
        if self._repeat is None:
            self.entry.waiting -= len(self._ids)
            self.entry.counts["labelled"] += len(self._ids)
        return answer


class Remember(Command):
    """Predictions that wait for their labels, with their rows. A repeat of the same is answered as the first was."""

    def __init__(
        self, entry: Entry, key: str | None, ids: list[str], batch: LoggedRows, answer: dict[str, Any]
    ) -> None:
        self.entry, self._key, self._ids, self._batch, self._answer = entry, key or "", ids, batch, answer
        self.size = batch.nbytes
        self._dropped = self._change = 0

    def prepare(self, store: Store) -> None:
        entry, log, limits = self.entry, store.log, store.settings.limits
        entry.check_ready()
        rows = [self._batch.part(slice(i, i + 1)) for i in range(self._batch.n)]
        known = [log.waits(entry.id, self._key, name) for name in self._ids]
        for i, (name, body) in enumerate(zip(self._ids, known, strict=True)):
            if body is not None:
                self._repeated(i, name, LoggedRows.unpack(body, self._batch.inputs.kinds), rows[i])
        added = known.count(None)
        self._dropped = min(max(0, entry.waiting + added - limits.open_labels), entry.waiting)
        if self._dropped:
            log.drop_oldest_waiting(entry.id, self._dropped)
        for name, body, row in zip(self._ids, known, rows, strict=True):
            if body is None:
                log.remember(entry.id, self._key, name, row.pack())
        self._change = added - self._dropped
        entry.waiting += self._change

    def _repeated(self, i: int, name: str, before: LoggedRows, now: LoggedRows) -> None:
        predicted, before.predictions, now = before.predictions, None, now.part(slice(0, 1))
        now.predictions = None
        if before.pack() != now.pack():
            raise Refusal(
                409, f"a prediction of another row with id {name[:60]!r} waits for its label; take another id"
            )
        self._answer["predictions"][i] = (predicted or [None])[0]

    def undo(self, store: Store) -> None:
        self.entry.waiting -= self._change

    def apply(self, store: Store) -> Any:
        self.entry.counts["expired"] += self._dropped
        return to_json(self._answer)


class Unlearn(Event):
    """Rows that were learnt and are to be forgotten exactly."""

    kind = "unlearn"
    alone = True

    def __init__(
        self,
        entry: Entry,
        key: str | None,
        idempotency: str | None,
        digest: bytes,
        batch: LoggedRows,
        *,
        snapshots: bool,
    ) -> None:
        super().__init__(entry, key, idempotency, digest)
        self.batch, self._snapshots = batch, snapshots
        self.rows, self.size = batch.n, batch.nbytes

    def check(self, store: Store) -> None:
        if self.key is not None and not store.keyed.knows(self.entry, self.key):
            raise Refusal(404, f"the model has no key {self.key[:60]!r}")
        part = store.part_of(self.entry, self.key)
        for each in [part] if self.key is not None else self.entry.parts:
            self._try(each, part)

    def _try(self, each: Part, part: Part) -> None:
        """Forget the rows on a copy, since only that shows whether they were learnt."""
        if each.model is None or each.form is None:
            raise Refusal(422, "the model has learnt nothing that could be forgotten")
        assert self.batch is not None
        try:
            learning.can_unlearn(each.model)
            learning.unlearn(learning.copied(each.model), self.batch, each.gate)
        except (Refusal, ValueError, TypeError) as error:
            text = one_line(error)
            if each is not part:
                text = f"challenger {each.name!r} cannot forget these rows (remove it first): {text}"
            raise Refusal(422, text) from None

    def execute(self, writer: Writer) -> Any:
        answer = super().execute(writer)
        if self._snapshots:
            writer.checkpoints.is_tight = True  # the rows are to go from the log too
            try:
                writer.checkpoints.save(self.entry, at_once=True)
                drop_older_snapshots(writer, self.entry)
            except Full:
                raise Refusal(
                    507,
                    "the rows are forgotten, but there is no room on the disk for a new snapshot, and older ones still "
                    "have them; make room and repeat the request with the same Idempotency-Key",
                ) from None
        return answer


def drop_older_snapshots(writer: Writer, entry: Entry) -> None:
    """Keep the last snapshot of each part alone."""
    store, old = writer.store, []
    with store.log.transaction():
        for part in entry.parts:
            rows = store.log.run("select id, file from snapshot where part = ? order by seq, id", (part.id,)).fetchall()
            for id, file in rows[:-1]:
                store.log.run("delete from snapshot where id = ?", (id,))
                old.append(file)
    store.refresh_snapshots(entry)
    for file in old:
        (store.files / file).unlink(missing_ok=True)


class Bring(Command):
    """Bring the model of a key into memory, so that it can be asked; None where there is none."""

    alone = True

    def __init__(self, entry: Entry, key: str) -> None:
        self.entry, self._key = entry, key

    def execute(self, writer: Writer) -> Any:
        store = writer.store
        self.entry.check_ready()
        if not store.keyed.knows(self.entry, self._key):
            return None
        return store.part_of(self.entry, self._key)
