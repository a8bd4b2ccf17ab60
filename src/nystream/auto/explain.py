"""Explanations of `Auto`: which experts and columns carry its prediction now."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from nystream.auto.expert_set import VIEW_TITLES
from nystream.data.inputs import as_row
from nystream.explain import Reasons, contributions, permutation_importance
from nystream.explain.errors import of_probabilities, squared_error
from nystream.explain.importance import Ask, Columns
from nystream.runtime.types import Array

if TYPE_CHECKING:
    from nystream.auto.ensemble import Ensemble
    from nystream.auto.learner import Auto

__all__ = [
    *("expert_shares", "expert_titles", "explain_row", "explanation", "importance", "metric_shares", "recent_share"),
]

MEANS = ("mean of about the last 10 labels", "mean of about the last 100 labels")
LAGS = ("the last label", *MEANS, "the label before the last")
"""Inputs of the stack beside the experts."""
LAST = "the last labels"
"""Their common name in `Auto.weights`."""
HELD = 512
"""Rows that importances and contributions are computed on."""
LEVELS = 5
"""Levels and words that `Auto.explain` names, at most."""
ALARMS = 3
"""Drift alarms that `Auto.explain` shows: the last ones."""
RECENT, FEWEST = 500, 20
"""Rows whose error `Auto.explain` shows, at most and at least."""
TINY = 1e-300
"""Mean squares of labels or of their steps, and sums of weights, count as 0 up to this."""
SHORT = 100
"""An expert counts as recent if it remembers at most so many rows."""
SPAN = re.compile(r"(?:last|about) ([\d,]+) rows")
"""The part of an expert's title that says how many rows it remembers."""


def importance(auto: Auto) -> dict[str, float]:
    """Return shares of the columns, by their places, that sum to 1; see `nystream.explain.permutation_importance`."""
    columns, Y = _held_rows(auto)
    error = of_probabilities(Y[:, 0].astype(np.intp)) if auto.task == "classification" else squared_error(Y)
    return permutation_importance(
        _predictor(auto),
        columns,
        error.losses,
        unit=error.unit,
        constant=error.constant,
        learnt=_by_place(metric_shares(auto)),
    )


def explain_row(auto: Auto, row: Any) -> dict[str, float]:
    """Return what each column, by its place, adds to the prediction for one row; see `nystream.explain.contributions`.

    For classes, columns add to the probability of the predicted class; for several targets, to the first target. Pure.
    """
    columns, _ = _held_rows(auto)
    x = as_row(row, auto.d_, "row", missing=True)
    ask = _predictor(auto)
    one: Columns = {name: x[j : j + 1] for j, name in enumerate(columns)}
    k = int(ask(one)[0].argmax()) if auto.task == "classification" else 0
    phi, value, base = contributions(lambda rows: ask(rows)[:, k : k + 1], one, columns)
    named = k if auto.task == "classification" or auto.outputs_ > 1 else None
    return Reasons(dict(zip(one, phi.tolist(), strict=True)), value, base, named)


def expert_titles(auto: Auto, ensemble: Ensemble) -> list[str]:
    """Return readable names of the inputs of the ensemble's stack, without label lags."""
    translator = auto.translator_
    return [
        *ensemble.expert_set_.titles(auto.pipeline_.dense).values(),
        *([] if translator is None else translator.titles),
    ]


def expert_shares(auto: Auto) -> dict[str, float]:
    """Return how much each expert, and the last labels, move the next prediction; see `Auto.weights`."""
    pipeline = auto.pipeline_
    found = dict.fromkeys((name for one in pipeline.ensembles for name in expert_titles(auto, one)), 0.0)
    rest = 1.0
    if auto.lags:
        found[LAST] = pipeline.stages_.last_label_share()
        rest -= found[LAST]
    for ensemble, carried in zip(pipeline.ensembles, pipeline.shares, strict=True):
        carried *= rest
        sizes = np.abs(ensemble.stack_.weights())
        shares = (sizes / np.maximum(sizes.sum(axis=0), TINY)).mean(axis=1).tolist()
        titles = expert_titles(auto, ensemble)
        for name, share in zip(titles, shares, strict=False):
            found[name] += carried * share
        if auto.lags:
            found[LAST] += carried * sum(shares[len(titles) :])
    return found


def _held_rows(auto: Auto) -> tuple[Columns, Array]:
    """Return the columns, by place, of the last rows that are kept, and their labels."""
    if not auto.d_:
        raise ValueError("Auto has seen no row yet, so there is nothing to explain")
    with auto._turns.reading():
        X, Y, _ = auto.pipeline_.buffer_.last(HELD)
        X, Y = X.copy(), Y.copy()
    if len(X) < 2:
        raise ValueError("Auto has seen one row; explanations need some to compare with")
    return {str(j): X[:, j] for j in range(X.shape[1])}, Y


def _predictor(auto: Auto) -> Ask:
    def ask(rows: Columns) -> Array:
        P = auto.predict_clean(np.column_stack([rows[name] for name in rows]))
        return np.exp(P) if auto.task == "classification" else P

    return ask


def _by_place(shares: Array | None) -> dict[str, float] | None:
    return None if shares is None else {str(j): share for j, share in enumerate(shares.tolist())}


def metric_shares(model: Auto) -> Array | None:
    """Return the shares of the columns in the learnt metrics, weighted by the experts that use them; or None.

    Columns are those that the experts see: for a table, the numbers that it is translated to. A column's share is the
    part of squared distances that its own differences add.
    """
    if not model.d_:
        return None
    total: Array | None = None
    for ensemble, carried in zip(model.pipeline_.ensembles, model.pipeline_.shares, strict=True):
        expert_set = ensemble.expert_set_
        sizes = carried * np.abs(ensemble.stack_.weights()).mean(axis=1)
        for name, size in zip(expert_set.names, sizes.tolist(), strict=False):
            view = expert_set.views_.get(expert_set.seen_in_.get(name, ""))
            if view is None or view.metric_ is None:
                continue
            own = view.metric_.parts[expert_set.lags_.size * (name == "change") :]
            holes, columns = own[: len(expert_set.holes_)], own[len(expert_set.holes_) :].copy()
            columns[expert_set.holes_] += holes
            share = size * columns / columns.sum()
            total = share if total is None else total + share
    return total / total.sum() if total is not None and total.sum() > 0 else None


def recent_share(model: Auto) -> float:
    """Return the part of the next prediction that comes from experts with a memory of at most 100 rows."""
    found = 0.0
    for title, share in model.weights().items():
        span = SPAN.search(title)
        if title == LAST or "change" in title or (span is not None and int(span[1].replace(",", "")) <= SHORT):
            found += share
    return found


def explanation(model: Auto) -> str:
    """Return some lines of text; see `Auto.explain`."""
    if not model.d_:
        return "Auto has seen no row yet."
    lines = [f"{model.task} on {model.d_} columns, {model.n_seen:,} rows, {model.nbytes / 1e6:.1f} MB"]
    lines += _changes(model)
    lines += _errors(model)
    last = model.pipeline_.stages_.last_label_share()
    if last > 0:
        lines.append(f"labels hardly ever change: the last one is {last:.0%} of the next prediction")
    for ensemble, carried in zip(model.pipeline_.ensembles, model.pipeline_.shares, strict=True):
        began = model.pipeline_.count_ - ensemble.count_
        if len(model.pipeline_.ensembles) > 1:
            lines.append(f"the model that began at row {began:,} carries {carried:.0%} of the prediction:")
        lines += _describe_ensemble(model, ensemble, began)
    effects = [] if model.translator_ is None else model.translator_.level_effects()[:LEVELS]
    if effects:
        several = model.task == "classification" or model.outputs_ > 1
        what = "class" if model.task == "classification" else "target"
        named = [f"{e.column} = {e.level} {e.effect:+.3g}" + f" ({what} {e.output})" * several for e in effects]
        lines.append(f"levels and words that add most to the linear experts: {', '.join(named)}")
    return "\n".join(lines)


def _changes(model: Auto) -> list[str]:
    """Describe the last drift alarms, and say how many warnings there were."""
    records = model.alarms(warnings=True) if model.can("alarms") else []
    alarms = [alarm for alarm in records if alarm.level == "alarm"]
    lines = []
    if alarms:
        last = f"; the last {ALARMS}" if len(alarms) > ALARMS else ""
        lines = [f"drift alarms: {len(alarms):,}{last}:", *(f"  {alarm}" for alarm in alarms[-ALARMS:])]
    warnings = len(records) - len(alarms)
    if warnings:
        text = f"warnings: inputs shifted {warnings:,} time{'s' * (warnings > 1)}, and the loss did not confirm a drift"
        lines.append(f"{text}; `alarms(warnings=True)` lists them")
    return lines


def _errors(model: Auto) -> list[str]:
    """Describe the error of the last predictions, in units of the label and relative to simple forecasts."""
    drift, count = model.pipeline_.drift_, model.pipeline_.count_
    if drift is None:
        return []
    past = drift.succession_.history_.losses_
    n = min(count - 1, RECENT, past.size)
    if n < FEWEST:
        return []
    losses = past.get(count - n, count)[:, 2]
    loss = float(losses.mean())
    if model.task == "classification":
        return [f"log loss over the last {n:,} rows: {loss:.4g}"]
    unit = "units of the label" if model.outputs_ == 1 else "standard deviations of the targets"
    lines = [f"root mean squared error over the last {n:,} rows: {loss**0.5:.4g} ({unit})"]
    labels = model.pipeline_.buffer_.labels_.last(n + 1)[:, 0]
    kept = len(labels) - 1
    mean, last = float(labels[1:].var()), float((np.diff(labels) ** 2).mean())
    if model.outputs_ == 1 and kept >= FEWEST and min(mean, last) > TINY:
        loss = float(losses[-kept:].mean())
        relative = f"squared error relative to always predicting the mean: {_percent(loss / mean)}; "
        lines.append(f"{relative}relative to repeating the last value: {_percent(loss / last)}")
    return lines


def _percent(share: float) -> str:
    return f"{share:.0%}" if share >= 0.1 else f"{100 * share:.2g}%"


def _unit(ensemble: Ensemble) -> tuple[float, str]:
    """Return the factor from the experts' root mean squared losses to users' units, and the name of these units."""
    if ensemble.targets_ is None:
        return 0.5, "(of the probability of a class, 0 to 1)"  # of codes -1 and +1
    if ensemble.outputs_ > 1:
        return 1.0, "(standard deviations of the targets)"
    return float(ensemble.targets_.scale_[0]), "(units of the label)"


def _describe_ensemble(model: Auto, ensemble: Ensemble, began: int) -> list[str]:
    """Describe the refits, the inputs, and the weights of the experts of one ensemble, which began at this row."""
    expert_set, stack = ensemble.expert_set_, ensemble.stack_
    recipe, names, count, lines = expert_set.recipe, expert_set.names, ensemble.count_, []
    if not ensemble.warm:
        soon = began + count + ensemble.until_event()
        last = max(began + recipe.warmup, soon)  # a refit may have to wait
        lines.append(f"warming up: the next full refit begins at row {soon:,}, the last one at row {last:,}")
    else:
        what = "landmarks are frozen"
        if recipe.grows:
            what = "landmarks grow" if recipe.growth > 1 else "the last full refit begins"
            what += f" at row {began + max(recipe.grows[0], count + 1):,}"
        lines.append(f"{what}; partial refits begin every {ensemble.every:,} rows")
    if "big" in expert_set.seen_in_:
        view = VIEW_TITLES[expert_set.seen_in_["big"]]
        lines.append(f"inputs of the expert with the most landmarks: {view}, which did best in the warm-up")
    if len(expert_set.holes_):
        known = None if model.translator_ is None else model.translator_.layout_
        holes = ", ".join(str(j) if known is None else known[j] for j in expert_set.holes_.tolist())
        lines.append(f"values were missing in columns {holes}: they count as the mean, with an indicator")
    weights = stack.weights().mean(axis=1)
    unit, unit_name = _unit(ensemble)
    errors = unit * np.sqrt(stack.recent_losses(count - ensemble.refitted_))
    recent = np.r_[errors, np.full(len(weights) - len(names), np.nan)]
    inputs = [*expert_titles(model, ensemble), *(LAGS if model.lags else ())]
    lines.append(f"experts, their weights, and their recent root mean squared errors {unit_name}:")
    lines.append(f"{'weight':>7} {'error':>12}  expert")
    for i in np.argsort(-np.abs(weights), kind="stable"):
        loss = f"{recent[i]:12.4g}" if np.isfinite(recent[i]) else " " * 12
        lines.append(f"{weights[i]:7.3f} {loss}  {inputs[i]}")
    shares = stack.member_shares_.mean(axis=0)
    members = [f"stacker with forgetting factor {decay:g}, ridge {lam:g}" for decay, lam in stack.stacker_.members]
    members += ["the last class"] * (stack.repeats_ is not None) + ["plain aggregation of the experts"]
    best = int(shares.argmax())
    lines.append(f"the largest share in the mixture is {shares[best]:.0%}: {members[best]}")
    return lines
