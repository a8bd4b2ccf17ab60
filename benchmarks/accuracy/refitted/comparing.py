"""Auto beside each booster: errors, and whether their difference is more than chance, over all rows and at the end."""

from __future__ import annotations

from typing import Any

import numpy as np

from refitted.contestants import AUTO, BOOSTERS, refit_text
from refitted.records import Record

__all__ = ["figures", "stream_text", "summary"]

BLOCK = 100
"""Rows whose losses are added up, as if blocks, unlike rows, were independent."""
CLEAR = 3.0
STRETCHES = ("all rows", "last third")
Figures = dict[str, Any]


def stretch(name: str, rows: int) -> slice:
    return slice(0 if name == "all rows" else rows - rows // 3, rows)


def z_of(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Mean over standard error of the differences theirs - ours in whole blocks; above 0, we are ahead."""
    whole = len(ours) // BLOCK * BLOCK
    differences = (theirs - ours)[:whole].reshape(-1, BLOCK).mean(axis=1)
    if len(differences) < 2 or not differences.any():
        return 0.0
    spread = differences.std(ddof=1) / np.sqrt(len(differences))
    return float(differences.mean() / spread) if spread > 0 else float(np.copysign(np.inf, differences.mean()))


def figures(records: dict[str, Record]) -> Figures:
    """Of one stream: contestant -> errors, z and seconds; those who did not finish have `rows` reached instead."""
    ours = records.get(AUTO)
    found: Figures = {}
    for name, record in records.items():
        rows = len(record.answers)
        one: Figures = {"rows": rows, "of": len(record.y), "CPU seconds": record.seconds, "made by": record.made_by}
        found[name] = one
        if not record.finished:
            if rows:
                one["error so far"] = record.error()
                if ours is not None and ours.finished:
                    one["Auto, same rows"] = ours.error(slice(0, rows))
                    one["z so far"] = z_of(ours.losses[:rows], record.losses)
            continue
        for part in STRETCHES:
            where = stretch(part, rows)
            one[part] = record.error(where)
            if ours is not None and ours.finished and name != AUTO:
                one[f"z, {part}"] = z_of(ours.losses[where], record.losses[where])
    return found


def stream_text(stream: str, classes: int, found: Figures) -> str:
    """The figures of one stream as a table."""
    rows = max(one["of"] for one in found.values())
    what = f"{classes} classes, error rate" if classes else "RMSE / deviation"
    lines = [
        f"{stream}: {rows:,} rows, {what}; boosters refitted {refit_text(stream)}",
        f"  {'':14} {'all rows':>9} {'last third':>11} {'z, all':>8} {'z, last':>8} {'CPU s':>9}",
    ]
    for name, one in found.items():
        if "all rows" in one:
            z = [f"{one[f'z, {part}']:+.1f}" if f"z, {part}" in one else "" for part in STRETCHES]
            errors = f"{one['all rows']:>9.4f} {one['last third']:>11.4f}"
            lines.append(f"  {name:14} {errors} {z[0]:>8} {z[1]:>8} {one['CPU seconds']:>9.1f}")
            continue
        text = f"not finished: {one['rows']:,} rows in {one['CPU seconds']:.0f} s"
        if "error so far" in one:
            text += f", there {one['error so far']:.4f}"
        if "z so far" in one:
            text += f", Auto {one['Auto, same rows']:.4f}, z {one['z so far']:+.1f}"
        lines.append(f"  {name:14} {text}")
    lines += [f"  {name}: no record" for name in (AUTO, *BOOSTERS) if name not in found]
    return "\n".join(lines)


def best(found: Figures, part: str) -> str | None:
    """The booster with the least error there, among those that finished."""
    errors = {name: one[part] for name, one in found.items() if name != AUTO and part in one}
    return min(errors, key=errors.__getitem__) if errors else None


def summary(every: dict[str, Figures]) -> str:
    """Auto against the best booster of each stream, and against any."""
    lines = [
        "Auto beside the best booster of each stream: the one with the least error of its own on those rows.",
        f"z > 0: Auto is ahead; blocks of {BLOCK} rows.",
        f"  {'':10}" + "".join(f" {part + ': Auto':>17} {'best booster':>23} {'z':>6}" for part in STRETCHES),
    ]
    z: dict[str, dict[str, float]] = {part: {} for part in STRETCHES}
    for stream, found in every.items():
        line = f"  {stream:10}"
        for part in STRETCHES:
            winner = best(found, part)
            ours = found.get(AUTO, {}).get(part)
            theirs = "none finished" if winner is None else f"{winner} {found[winner][part]:.4f}"
            if winner is not None and ours is not None:
                z[part][stream] = found[winner][f"z, {part}"]
            said = f"{z[part][stream]:+.1f}" if stream in z[part] else ""
            line += f" {'not run' if ours is None else f'{ours:.4f}':>17} {theirs:>23} {said:>6}"
        lines.append(line)
    whole, last = (z[part] for part in STRETCHES)
    behind = [f"{s}, {part} ({v:+.1f})" for part in STRETCHES for s, v in z[part].items() if v < -CLEAR]
    behind_any = [
        f"{stream}, {part}, {name} ({one[f'z, {part}']:+.1f})"
        for stream, found in every.items()
        for name, one in found.items()
        for part in STRETCHES
        if one.get(f"z, {part}", 0.0) < -CLEAR
    ]
    missing = [
        f"{stream} {name} ({found[name]['rows']:,} of {found[name]['of']:,} rows)"
        if name in found
        else f"{stream} {name}"
        for stream, found in every.items()
        for name in (AUTO, *BOOSTERS)
        if name not in found or found[name]["rows"] < found[name]["of"]
    ]
    if not whole:
        return "\n".join([*lines, "No stream has both Auto and a booster that finished: nothing to compare."])
    return "\n".join(
        [
            *lines,
            f"Over all rows Auto is ahead (z > 0) on {sum(v > 0 for v in whole.values())} of {len(whole)} streams, "
            f"clearly (z > {CLEAR:g}) on {sum(v > CLEAR for v in whole.values())}.",
            f"In the last third Auto is ahead or level (z >= -{CLEAR:g}) on "
            f"{sum(v >= -CLEAR for v in last.values())} of {len(last)}, ahead (z > 0) on "
            f"{sum(v > 0 for v in last.values())}.",
            f"Clearly behind (z < -{CLEAR:g}) the best booster: {'; '.join(behind) or 'nowhere'}.",
            f"Clearly behind any booster: {'; '.join(behind_any) or 'nowhere'}.",
            f"Not finished or not run, and not counted: {'; '.join(missing) or 'nobody'}.",
        ]
    )
