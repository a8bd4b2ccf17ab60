"""Descriptions of datasets that are tables, for classification and regression."""

from __future__ import annotations

from functools import partial

from nystream.datasets.entry import Dataset, File, Preparation
from nystream.datasets.reading import covtype_binary, idx_images, min_max, scaled_by, two_tables
from nystream.streams import arff, csv, libsvm

__all__ = ["TABLES"]

_LIBSVM = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_MNIST = "http://yann.lecun.com/exdb/mnist"
_CC_BY = "CC BY 4.0"
_NO_LICENCE = "not stated"
_PLATT = (
    "Platt. Fast training of support vector machines using sequential minimal optimization, 1998; by way of LIBSVM."
)


def _adult_style(name: str, rows: tuple[int, int], columns: int, citation: str) -> Dataset:
    """Describe a binary set of the LIBSVM page in two plain files. No copy was examined."""
    files = [(name, rows[0], "train"), (f"{name}.t", rows[1], "test")]
    return Dataset(
        name,
        "classification",
        columns,
        tuple(File(f"{name}/{path}", n, part, url=f"{_LIBSVM}/binary/{path}") for path, n, part in files),
        licence=_NO_LICENCE,
        citation=citation,
        home=f"{_LIBSVM}/binary.html#{name}",
        read=partial(libsvm, d=columns),
    )


TABLES = (
    Dataset(
        "ijcnn1",
        "classification",
        22,
        (
            File(
                "ijcnn1/ijcnn1.bz2",
                49_990,
                "train",
                "7fe291672c3fefe6a7e3c51529becd23f0e985ba05ffb8d53c9c648c1e91cc19",
                f"{_LIBSVM}/binary/ijcnn1.bz2",
                "same",
            ),
            File(
                "ijcnn1/ijcnn1.t.bz2",
                91_701,
                "test",
                "e7b0bbd518641980dc322746c6bc59d019d3153934e6258e48f9d8cfae2c4bb8",
                f"{_LIBSVM}/binary/ijcnn1.t.bz2",
                "same",
            ),
        ),
        licence=_NO_LICENCE,
        citation="Prokhorov. IJCNN 2001 neural network competition; by way of Chang and Lin, LIBSVM.",
        home=f"{_LIBSVM}/binary.html#ijcnn1",
        read=partial(libsvm, d=22),
        note="Successive rows are shifted windows of one series.",
    ),
    Dataset(
        "cod-rna",
        "classification",
        8,
        (
            File(
                "cod-rna/cod-rna.bz2",
                59_535,
                "train",
                "65b7cc0689fc29bba5db8b50fab0b6446d985f4bf8f6f5dd474f7df8b2f1ab6c",
                f"{_LIBSVM}/binary/cod-rna",
                "same",
            ),
            File(
                "cod-rna/cod-rna.t.bz2",
                271_617,
                "test",
                "58cff16df896436b06343df78ccaef37a6979d819abbcadbec3cb16b93938df6",
                f"{_LIBSVM}/binary/cod-rna.t",
                "same",
            ),
        ),
        licence=_NO_LICENCE,
        citation="Uzilov, Keegan, Mathews. Detection of non-coding RNAs on the basis of predicted secondary structure "
        "formation free energy change. BMC Bioinformatics 7, 2006; by way of LIBSVM.",
        home=f"{_LIBSVM}/binary.html#cod-rna",
        read=partial(libsvm, d=8),
        note="Sorted in long blocks of one label: shuffle it, or it is an artificial drift.",
    ),
    Dataset(
        "covtype",
        "classification",
        54,
        (
            File(
                "covtype/covtype.data.gz",
                581_012,
                sha256="0a9371cef7c964b5475d6053cc3e0894a5aa6f65ad1ed3ecb01c45aa96217945",
                url=f"{_UCI}/covtype/covtype.data.gz",
                served="same",
            ),
        ),
        licence=_CC_BY,
        citation="Blackard, Dean. Comparative accuracies of artificial neural networks and discriminant analysis in "
        "predicting forest cover types. Computers and Electronics in Agriculture 24(3), 1999.",
        home="https://archive.ics.uci.edu/dataset/31/covertype",
        read=partial(csv, target=-1, header=False, labels=range(1, 8)),
        preparation=Preparation("features to [0, 1] by their ranges; class 2 is +1, the rest -1", covtype_binary),
        note="Labels come in runs.",
    ),
    Dataset(
        "casp",
        "regression",
        9,
        (
            File(
                "casp/CASP.csv.xz",
                45_730,
                sha256="712d2759f8113622a3ba93a47e451397147df946111f6ffdd8c655385d564aef",
                url=f"{_UCI}/00265/CASP.csv",
                served="same",
            ),
        ),
        licence=_CC_BY,
        citation="Rana. Physicochemical properties of protein tertiary structure. UCI repository, 2013.",
        home="https://archive.ics.uci.edu/dataset/265",
        read=partial(csv, target="RMSD", header=True),
        note="1,711 rows are exact duplicates.",
    ),
    Dataset(
        "cpusmall",
        "regression",
        12,
        (
            File(
                "cpusmall/cpusmall.bz2",
                8_192,
                sha256="399618e16393241f150cc9f6c91fac70431a2b35b3e6f6e010cab503be22241e",
                url=f"{_LIBSVM}/regression/cpusmall",
            ),
        ),
        licence=_NO_LICENCE,
        citation="Delve, University of Toronto: comp-activ; by way of LIBSVM.",
        home=f"{_LIBSVM}/regression.html#cpusmall",
        read=partial(libsvm, d=12),
        preparation=Preparation(
            "features to [-1, 1] by their ranges; the target stays 0..99", partial(min_max, -1.0, 1.0)
        ),
    ),
    Dataset(
        "usps",
        "classification",
        256,
        (
            File(
                "usps/usps.bz2",
                7_291,
                "train",
                "83b3e2490d0da05237ce1f63477763c3ae116bff90700822d6ed810791432fa9",
                f"{_LIBSVM}/multiclass/usps.bz2",
                "md5:ec16c51db3855ca6c91edd34d0e9b197",
            ),
            File(
                "usps/usps.t.bz2",
                2_007,
                "test",
                "a92340313639767be7580f70aa1d68f16ae41342f290e8ef501183225fb00a28",
                f"{_LIBSVM}/multiclass/usps.t.bz2",
                "md5:8ea070ee2aca1ac39742fdd1ef5ed118",
            ),
        ),
        licence=_NO_LICENCE,
        citation="Hull. A database for handwritten text recognition research. IEEE Transactions on Pattern Analysis "
        "and Machine Intelligence 16(5), 1994; by way of LIBSVM.",
        home=f"{_LIBSVM}/multiclass.html#usps",
        read=partial(libsvm, d=256, labels=range(1, 11)),
        note="Pixels from -1 to 1; y is the digit (in the file it is one more).",
    ),
    Dataset(
        "mnist",
        "classification",
        784,
        (
            File(
                "mnist/train-images-idx3-ubyte.gz",
                60_000,
                "train",
                "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
                f"{_MNIST}/train-images-idx3-ubyte.gz",
                "same",
            ),
            File(
                "mnist/train-labels-idx1-ubyte.gz",
                None,
                "train",
                "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
                f"{_MNIST}/train-labels-idx1-ubyte.gz",
                "same",
            ),
            File(
                "mnist/t10k-images-idx3-ubyte.gz",
                10_000,
                "test",
                "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
                f"{_MNIST}/t10k-images-idx3-ubyte.gz",
                "same",
            ),
            File(
                "mnist/t10k-labels-idx1-ubyte.gz",
                None,
                "test",
                "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
                f"{_MNIST}/t10k-labels-idx1-ubyte.gz",
                "same",
            ),
        ),
        licence="CC BY-SA 3.0, as commonly given",
        citation="LeCun, Bottou, Bengio, Haffner. Gradient-based learning applied to document recognition. Proceedings "
        "of the IEEE 86(11), 1998.",
        home=f"{_MNIST}/",
        read=idx_images,
        preparation=Preparation("pixels from 0 to 1", partial(scaled_by, 1 / 255)),
    ),
    Dataset(
        "susy",
        "classification",
        18,
        (File("susy/SUSY.csv.gz", 5_000_000, url=f"{_UCI}/00279/SUSY.csv.gz"),),
        licence=_CC_BY,
        citation="Baldi, Sadowski, Whiteson. Searching for exotic particles in high-energy physics with deep learning. "
        "Nature Communications 5, 2014.",
        home="https://archive.ics.uci.edu/dataset/279/susy",
        read=partial(csv, target=0, header=False, labels=range(2)),
    ),
    Dataset(
        "susy-30k",
        "classification",
        18,
        (
            File(
                "susy-30k/SUSY-30k.csv.xz",
                30_000,
                sha256="bf4a1deedaf4b6a173024bf97d78f5f0aa0d9750445dbc8f61cb4fb0056899f6",
            ),
        ),
        licence=_CC_BY,
        citation="Baldi, Sadowski, Whiteson 2014, as susy.",
        home="https://archive.ics.uci.edu/dataset/279/susy",
        read=partial(csv, target=0, header=False, labels=range(2)),
        note="30,000 of the 5,000,000 rows of susy; how they were drawn is not documented.",
    ),
    Dataset(
        "webspam",
        "classification",
        254,
        (
            File(
                "webspam/webspam_wc_normalized_unigram.svm.xz",
                350_000,
                url=f"{_LIBSVM}/binary/webspam_wc_normalized_unigram.svm.xz",
            ),
        ),
        licence=_NO_LICENCE,
        citation="Webb, Caverlee, Pu. Introducing the Webb spam corpus. CEAS 2006; by way of LIBSVM.",
        home=f"{_LIBSVM}/binary.html#webspam",
        read=partial(libsvm, d=254),
        note="Unigrams, each row normalised to length 1.",
    ),
    Dataset(
        "elec2",
        "classification",
        8,
        (
            File(
                "elec2/elecNormNew.arff.xz",
                45_312,
                sha256="2d86fbc74c69a5c04bcde0119bce280dd6d8efa0115987edc75b77ccf024d7f2",
                url="https://downloads.sourceforge.net/project/moa-datastream/Datasets/Classification/elecNormNew.arff.zip",
                served="same",
            ),
        ),
        licence=_NO_LICENCE,
        citation="Harries. Splice-2 comparative evaluation: electricity pricing. University of New South Wales, 1999; "
        "normalised, by way of MOA.",
        home="https://moa.cms.waikato.ac.nz/datasets/",
        read=arff,
        note="In order of time.",
    ),
    Dataset(
        "weather",
        "classification",
        8,
        (
            File(
                "weather/NEweather_data.csv.xz",
                18_159,
                sha256="e38ef95890ec0df3daee0493e92e59c38ae1c27cd01c4805367f189d52dfeed9",
            ),
            File(
                "weather/NEweather_class.csv.xz",
                sha256="90f39b754a9c95fc34047beb41752ebeb6fa1cde4e2d03fad3d3c5a46aee360f",
            ),
        ),
        licence=_NO_LICENCE,
        citation="Elwell, Polikar. Incremental learning of concept drift in nonstationary environments. IEEE "
        "Transactions on Neural Networks 22(10), 2011; from measurements of NOAA.",
        home="https://github.com/vlosing/driftDatasets",
        read=two_tables,
        note="In order of time, 1949 to 1999; 1 is rain.",
    ),
    _adult_style(
        "a9a",
        (32_561, 16_281),
        123,
        _PLATT,
    ),
    _adult_style(
        "w8a",
        (49_749, 14_951),
        300,
        _PLATT,
    ),
)
"""Every table."""
