"""
Moving things in a video
========================

Each pixel has a novelty learner. A colour that the pixel has shown recently is known; a new colour stands out.
"""

import matplotlib.pyplot as plt
import numpy as np

import nystream

# The video shows a street with swaying trees on the left. A car drives through.
rng = np.random.default_rng(0)
height, width = 60, 96
street = rng.integers(70, 130, (height, width, 3)).astype(float)


def frame(t, car):
    shown = street + rng.normal(0, 3, street.shape)
    shown[:, :30] += 50 * ((np.arange(30) + t // 2) % 3 == 0)[None, :, None]  # leaves go to and fro
    if car:
        at = 3 * (t - 100)
        shown[34:46, max(0, at) : max(0, at + 18)] = 200, 40, 40
    return np.clip(shown, 0, 255).astype(np.uint8)


# %%
# The street is empty for a hundred frames, then the car comes. Each frame is scored before it is learnt.

model = nystream.Pixels(nystream.Gaussian(0.1), budget=20)
for t in range(100):
    model.step(frame(t, car=False))
found = []
for t in range(100, 126):
    picture = frame(t, car=True)
    mask = model.step(picture) < model.ceiling / 5  # leaves are there a third of the time
    found.append((mask[34:46].sum(), mask[:30].sum()))
    if t == 116:
        shown = picture, mask
print("pixels of foreground in the car's lane, and above it, frame by frame:")
for t, (lane, rest) in list(zip(range(100, 126), found, strict=True))[::5]:
    print(f"frame {t}: {lane:4d} {rest:4d}")

# %%
fig, (left, right) = plt.subplots(1, 2, figsize=(8, 2.8))
left.imshow(shown[0])
right.imshow(shown[1], cmap="gray")
for axes, title in ((left, "frame 116"), (right, "what is new")):
    axes.set_title(title)
    axes.axis("off")
plt.show()
