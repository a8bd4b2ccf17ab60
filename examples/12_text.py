"""
Text
====

Sort short messages into topics as they come. Words are hashed, so new words need no new memory.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

TOPICS = {
    "delivery": "parcel late courier address door left ring neighbour lost tracking van doorstep",
    "payment": "card charged twice refund invoice bank transfer price discount wrong amount receipt",
    "account": "password login reset email locked account change name delete profile security code",
}
FILLER = ["hello", "please", "thanks", "the", "my", "is", "was", "not", "yet", "since", "again", "today", "you", "help"]
rng = np.random.default_rng(0)


def message(topic):
    words = [*rng.choice(TOPICS[topic].split(), rng.integers(1, 4)), *rng.choice(FILLER, rng.integers(4, 12))]
    return {"text": " ".join(rng.permutation(words)), "length": len(words)}


labels = rng.choice(list(TOPICS), 1500, p=[0.5, 0.3, 0.2]).tolist()
rows = [message(label) for label in labels]
print(rows[0], "->", labels[0])

# %%
# You may tell a model the kinds of the columns; otherwise it finds them. New classes may appear at any time.

schema = nystream.Schema({"text": "text", "length": "number"}, task="classification")
model = nystream.Model(schema=schema)
said = model.run(rows, labels)
right = np.array([a == b for a, b in zip(said, labels, strict=True)])
print(f"first 100: {right[:100].mean():.1%} right, last 500: {right[-500:].mean():.1%}")
print(f"{model.nbytes:,} bytes, {len(model.classes)} classes")

# %%
# The probability of each topic for a new message.

new = {"text": "hello the courier has not come since monday please help", "length": 10}
likely = model.probabilities([new])[0]
print(dict(zip(model.classes, likely.round(3).tolist(), strict=True)))

fig, axes = plt.subplots(figsize=(7, 2.6))
axes.plot(np.convolve(~right, np.ones(50) / 50, mode="valid"), color="#0b7285")
axes.set(xlabel="messages", ylabel="wrong, of the last 50", ylim=(0, None))
plt.show()
