"""The decision chart of "Which learner?": SVG in the page, so that its boxes are links and follow the theme."""

from __future__ import annotations

from html import escape
from typing import Any

from nystream.registry import LEARNERS

QUESTIONS: list[tuple[str, str, list[tuple[str, str]]]] = [
    (
        "No special requirement,",
        "no known settings?",
        [("auto", "chooses all settings"), ("baseline", "less accurate, faster")],
    ),
    ("Rows without labels?", "(novelty detection)", [("silk", "loss='novelty'"), ("norma", "nu: share of alarms")]),
    ("Text, clicks, millions", "of columns?", [("sparse-linear", ""), ("gaussian-filter", "gives its uncertainty")]),
    (
        "Must you merge models,",
        "or unlearn rows?",
        [("pkrr", "both are exact"), ("pkawv", "exact, lower regret bound")],
    ),
    (
        "Do you need a regret",
        "guarantee?",
        [
            ("pkawv", "numbers"),
            ("kernel-awv", "some thousand rows"),
            ("nystrom-pkawv", "any kernel"),
            ("ons", "other losses"),
            ("aggregate", "over your own learners"),
        ],
    ),
    (
        "Does the stream",
        "drift?",
        [
            ("forgetting", "numbers"),
            ("silk", "classes"),
            ("mixture", "several regimes"),
            ("nolana", "input shift"),
        ],
    ),
    (
        "Is the stream short?",
        "(some thousand rows)",
        [("kernel-ridge", "exact"), ("nystrom-pkrr", "smaller, any kernel")],
    ),
    (
        "Millions of rows, and",
        "speed matters most?",
        [("fogd", ""), ("rrf", "irrelevant columns"), ("nogd", "any kernel")],
    ),
    (
        "Must the model be small?",
        "(kilobytes)",
        [("bsgd", "merges stored points"), ("budget-pa", "classes"), ("projectron", "classes")],
    ),
]
"""Two lines of a question, and the learners for the answer yes, each with a short remark."""
STEP, LEFT, WIDE, RIGHT = 84, 10, 230, 330
BOX, GAP = 186, 10


def chart() -> str:
    height = STEP * len(QUESTIONS) + 60
    most = max(len(answers) for _, _, answers in QUESTIONS)
    width = RIGHT + most * (BOX + GAP)
    parts = [
        "```{raw} html",
        f'<div class="chart"><svg viewBox="0 0 {width} {height}" role="img" aria-label="A chart of questions">',
        '<defs><marker id="tip" markerWidth="9" markerHeight="9" refX="7" refY="4" orient="auto">'
        '<path d="M0,0 L8,4 L0,8 z" class="tip"/></marker></defs>',
    ]
    for row, (one, two, answers) in enumerate(QUESTIONS):
        top = 10 + row * STEP
        middle = top + 28
        parts += [
            f'<rect x="{LEFT}" y="{top}" width="{WIDE}" height="56" rx="28" class="question"/>',
            *centred(LEFT + WIDE / 2, middle, [one, two]),
            f'<path d="M{LEFT + WIDE},{middle} H{RIGHT - 8}" class="line" marker-end="url(#tip)"/>',
            f'<text x="{(LEFT + WIDE + RIGHT) / 2 - 6}" y="{middle - 6}" class="word">yes</text>',
            f'<path d="M{LEFT + WIDE / 2},{top + 56} V{top + STEP - 3}" class="line" marker-end="url(#tip)"/>',
            f'<text x="{LEFT + WIDE / 2 + 14}" y="{top + 73}" class="word">no</text>',
        ]
        for place, (name, word) in enumerate(answers):
            parts += answer(name, word, RIGHT + place * (BOX + GAP), top)
    top = 10 + len(QUESTIONS) * STEP
    parts += answer("auto", "start there", LEFT + (WIDE - BOX) / 2, top - 4)
    return "\n".join([*parts, "</svg></div>", "```"])


def answer(name: str, word: str, x: float, top: float) -> list[str]:
    title = LEARNERS[name].cls.__name__
    lines = [f'<text x="{x + BOX / 2}" y="{top + (25 if word else 33)}" class="name">{escape(title)}</text>']
    if word:
        lines.append(f'<text x="{x + BOX / 2}" y="{top + 43}" class="word">{escape(word)}</text>')
    return [
        f'<a href="algorithms/{name}.html">',
        f'<rect x="{x}" y="{top + 3}" width="{BOX}" height="50" rx="8" class="answer"/>',
        *lines,
        "</a>",
    ]


def centred(x: float, middle: float, lines: list[str]) -> list[str]:
    shown = [line for line in lines if line]
    start = middle + 5 - 9 * (len(shown) - 1)
    return [f'<text x="{x}" y="{start + 18 * i}" class="ask">{escape(line)}</text>' for i, line in enumerate(shown)]


def read(app: Any, docname: str, source: list[str]) -> None:
    source[0] = source[0].replace("<!-- chart -->", chart()) if "<!-- chart -->" in source[0] else source[0]


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
