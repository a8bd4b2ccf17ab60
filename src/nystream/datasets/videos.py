"""Descriptions of video sequences: Wallflower, and clips of the CDnet and I2R collections."""

from __future__ import annotations

from nystream.datasets.entry import Dataset, File

__all__ = ["VIDEOS"]

_TOYAMA = "Toyama, Krumm, Brumitt, Meyers. Wallflower: principles and practice of background maintenance. ICCV 1999."
_WALLFLOWER = (
    "https://www.microsoft.com/en-us/research/publication/wallflower-principles-and-practice-of-background-maintenance/"
)
_TERMS = "Microsoft Research terms"
_LOSSY = "Frames count from 0. The film is a lossy copy of the original pictures; reading it needs nystream[video]."


def _film(name: str, folder: str, frames: int, film: str, mask: tuple[str, str], script: str) -> Dataset:
    """Describe a Wallflower sequence: a film, one hand-made mask, and Wallflower's list of events."""
    place = f"video/wallflower/{folder}"
    return Dataset(
        name,
        "video",
        160 * 120,
        (
            File(f"{place}/{folder}.mp4", frames, sha256=film),
            File(f"{place}/{mask[0]}", sha256=mask[1]),
            File(f"{place}/script.txt", sha256=script),
        ),
        licence=_TERMS,
        citation=_TOYAMA,
        home=_WALLFLOWER,
        note=_LOSSY,
        frames=f"{folder}.mp4",
        masks=mask[0],
    )


VIDEOS = (
    Dataset(
        "highway",
        "video",
        320 * 240,
        (File("video/highway.zip", 801, sha256="9311fa47102e00c8350a5cb0a6e686c002f3f65e0539bb35669584933248acab"),),
        licence="research, with citation",
        citation="Goyette, Jodoin, Porikli, Konrad, Ishwar. changedetection.net: a new change detection benchmark "
        "dataset. CVPR workshops 2012.",
        home="http://changedetection.net",
        note="Frames 300 to 1100 of 1,700; masks from frame 470 on.",
        frames="highway.zip/highway/input",
        masks="highway.zip/highway/groundtruth",
    ),
    Dataset(
        "waving-trees",
        "video",
        160 * 120,
        (
            File(
                "video/WavingTrees.tar.xz",
                287,
                sha256="21f12a03160021247c854cafe87a4f86a9e64b1b42a903e75e94f1c999de4947",
            ),
        ),
        licence=_TERMS,
        citation=_TOYAMA,
        home=_WALLFLOWER,
        note="The original pictures, all of them; one mask, of frame 247.",
        frames="WavingTrees.tar.xz/WavingTrees/b*.bmp",
        masks="WavingTrees.tar.xz/WavingTrees/hand_segmented_*.BMP",
    ),
    Dataset(
        "light-switch",
        "video",
        160 * 120,
        (
            File(
                "video/wallflower/LightSwitch/LightSwitch_gray_01640-02300.npy.xz",
                661,
                sha256="9724e6cb113b8f076193a1df340764ea3329f17e61b1c166f947baf22d275db1",
            ),
            File(
                "video/wallflower/LightSwitch/hand_segmented_01865.BMP",
                sha256="9d117f8e25750ef2e2ad65ca9d56a0a9f1f29fd5824e8c89d55d276fac8f396e",
            ),
            File(
                "video/wallflower/LightSwitch/script.txt",
                sha256="6996c497ea38154de28ca36f1c73ab685fb352339830aff032377488581ce58c",
            ),
            File(
                "video/wallflower/LightSwitch/LightSwitch.mp4",
                sha256="b2b87eaf1590696f0f14517978d225a90df460e04ae508549bda1c83b1bb2004",
            ),
        ),
        licence=_TERMS,
        citation=_TOYAMA,
        home=_WALLFLOWER,
        note="Grey frames 1640 to 2300 (--first 1640) of 2,715, decoded from a lossy copy; lights go on at 1853, the "
        "mask is of 1865.",
        frames="LightSwitch_gray_01640-02300.npy.xz",
        masks="hand_segmented_01865.BMP",
    ),
    _film(
        "camouflage",
        "Camouflage",
        353,
        "a232ab97127c1b2b7d251809574d0d564fd0a56a007e1899016c744e2367170a",
        ("hand_segmented_00251.BMP", "436732e030d190584ad0d139b00e3fef291109a882a714a05b93491cbcdb69b0"),
        "bdd739927dc93c5983f96552a35aaffcb1d39a9661da13393791abea0be9f7e9",
    ),
    _film(
        "foreground-aperture",
        "ForegroundAperture",
        2113,
        "848175a245b94e4a3d15a1441de54154b69804b55aaa588737779e36050f5da4",
        ("hand_segmented_00489.BMP", "347999d5818151981a478037a63e077a3334d170ea5f0d56de2c852eb87ada58"),
        "7c195fc2221b11973a71beab739026e20de38c531b16e34a886e2cdb3ee9317e",
    ),
    _film(
        "moved-object",
        "MovedObject",
        1745,
        "d9947317bed75e78c7905c83bd34f4dab7c078ea5637ab355202507ce3bd6033",
        ("hand_segmented_00985.BMP", "12ea49d2a8f7e907e6520bbe120a54f8049134afe164e197da1554e52c812991"),
        "8f055b36be1a63be077b0864dd2200d189afdfabab3b0b514c628d1817c1d05c",
    ),
    _film(
        "time-of-day",
        "TimeOfDay",
        5890,
        "9e4f6b19a7f2faee6f118f9bbb7d084217e1c8e868f389000f85ea19d3f81f1b",
        ("hand_segmented_01850.BMP", "1fb442a07ee33cbde5d77d6b9336015b0b2554417963c7e2d4e2553bbc7e7757"),
        "620d3747c97940ad0f97d671f4ac22a05c3f7ed1328f511498f0b33004482a03",
    ),
    Dataset(
        "lobby",
        "video",
        160 * 128,
        (File("video/Lobby.tar.xz", 442, sha256="886631a8079a14bb9c28ec852b5af81961b5b9807d67b25527895b041cc0c0f4"),),
        licence="not stated",
        citation="Li, Huang, Gu, Tian. Statistical modeling of complex backgrounds for foreground object detection. "
        "IEEE Transactions on Image Processing 13(11), 2004.",
        home="http://perception.i2r.a-star.edu.sg/bk_model/bk_index.html",
        note="Frames 1340 to 1660 and 2010 to 2130 of 1,546; no masks. Nobody is in view in 1396 to 1612 and in 2038 "
        "to 2130.",
        frames="Lobby.tar.xz/Lobby/*.bmp",
    ),
)
"""Every video."""
