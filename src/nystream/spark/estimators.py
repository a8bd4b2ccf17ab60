"""`fit_auto` as estimators of pyspark.ml: they work in a Pipeline, a CrossValidator and an evaluator, and are saved."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark import keyword_only
from pyspark.ml.classification import ProbabilisticClassificationModel, ProbabilisticClassifier
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import DenseVector, VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasInputCols, HasSeed, HasValidationIndicatorCol, HasWeightCol
from pyspark.ml.regression import RegressionModel, Regressor
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import functions as sql
from pyspark.sql.types import BooleanType, DoubleType, StructField, StructType

from nystream.model import Model
from nystream.persist import from_bytes, to_bytes
from nystream.runtime.types import Array
from nystream.spark.answering import answering, chosen, raw_predictions, spread_over_classes
from nystream.spark.automatic import fit_auto
from nystream.spark.columns import column, in_utc, is_number, refuse_stream, require_names
from nystream.spark.errors import clear_errors
from nystream.spark.estimator_files import Saved
from nystream.spark.fitting import MOST_CLASSES
from nystream.spark.vectors import as_array, count_entries, is_vector, unfold

__all__ = [
    "OnlineKernelClassificationModel",
    "OnlineKernelClassifier",
    "OnlineKernelRegressionModel",
    "OnlineKernelRegressor",
]

ANSWERS = "__nystream_answers"


def _param(name: str, doc: str, converter: Any) -> Any:
    """Return a parameter of pyspark.ml for the body of a class."""
    return Param(Params._dummy(), name, doc, converter)


class _Settings(HasInputCols, HasWeightCol, HasValidationIndicatorCol, HasSeed):  # type: ignore[misc]
    """Parameters of the estimators, which their models keep: columns, and those of `fit_auto` in the spelling of Spark.

    The columns to learn from are one of vectors or arrays (`featuresCol`), or several of any kind (`inputCols`).
    """

    landmarks: Any = _param("landmarks", "landmarks of each of the six first ridges (>= 1)", TypeConverters.toInt)
    big: Any = _param("big", "landmarks of the large ridge (>= 0); not set: by rows", TypeConverters.toInt)
    rough: Any = _param("rough", "landmarks of the Laplacian ridge (>= 0); not set: by rows", TypeConverters.toInt)
    sampleSize: Any = _param("sampleSize", "rows at most that the design is made from (>= 1)", TypeConverters.toInt)
    heldFraction: Any = _param("heldFraction", "share of rows held back for choices (0 to 1)", TypeConverters.toFloat)
    taskMemory: Any = _param("taskMemory", "bytes that the sums of a task may take", TypeConverters.toFloat)

    def _set_defaults(self) -> None:
        self._setDefault(landmarks=300, sampleSize=20_000, heldFraction=0.1, taskMemory=256e6, seed=0)

    def _get(self, param: Any) -> Any:
        return self.getOrDefault(param) if self.isDefined(param) else None

    def setInputCols(self, value: list[str]) -> Any:
        """Set the columns to learn from, in place of `featuresCol`: numbers, booleans, strings, dates and times."""
        return self._set(inputCols=value)

    @property
    def _named(self) -> list[str] | None:
        """The columns by name, or None where `featuresCol` has the features."""
        if not self.isDefined(self.inputCols):
            return None
        if self.isSet(self.featuresCol):
            raise ValueError("featuresCol and inputCols are both set: give one of them")
        return list(self.getInputCols())

    def _check_inputs(self, schema: StructType) -> None:
        named, features = self._named, self.getFeaturesCol()
        require_names(schema.names, [features] if named is None else named)
        if named is None and not is_vector(schema[features].dataType):
            raise ValueError(
                f"featuresCol={features!r} is {schema[features].dataType.simpleString()}, not a vector or an array of "
                "numbers; use pyspark.ml.feature.VectorAssembler, or name the columns in inputCols"
            )

    def _output_fields(self) -> list[StructField]:
        """Return the columns that the model makes; a column whose name is "" is left out, as everywhere in Spark."""
        fields = [StructField(self.getPredictionCol(), DoubleType(), False)]
        if self.hasParam("probabilityCol"):
            vectors = (self.getRawPredictionCol(), self.getProbabilityCol())
            fields = [*(StructField(name, VectorUDT()) for name in vectors), *fields]
        return [field for field in fields if field.name]

    def _with_outputs(self, schema: StructType) -> StructType:
        fields = self._output_fields()
        taken = next((field.name for field in fields if field.name in schema.names), None)
        if taken is not None:
            raise ValueError(f"the frame has a column {taken!r} already, which is to be made; rename or drop it")
        return StructType([*schema.fields, *fields])


class _Learning(_Settings):
    """What both estimators have in common."""

    def setWeightCol(self, value: str) -> Any:
        """Set the column of weights, 0 or more."""
        return self._set(weightCol=value)

    def setValidationIndicatorCol(self, value: str) -> Any:
        """Set the boolean column that is true in rows that make the choices and are not learnt."""
        return self._set(validationIndicatorCol=value)

    def setSeed(self, value: int) -> Any:
        """Set the seed of the sample and of the landmarks."""
        return self._set(seed=value)

    def setLandmarks(self, value: int) -> Any:
        """Set the landmarks of each of the six first ridges."""
        return self._set(landmarks=value)

    def setBig(self, value: int) -> Any:
        """Set the landmarks of the large ridge."""
        return self._set(big=value)

    def setRough(self, value: int) -> Any:
        """Set the landmarks of the ridge with a Laplacian kernel."""
        return self._set(rough=value)

    def setSampleSize(self, value: int) -> Any:
        """Set the rows at most that scales, metrics and landmarks are taken from."""
        return self._set(sampleSize=value)

    def setHeldFraction(self, value: float) -> Any:
        """Set the share of rows that is held back for choices."""
        return self._set(heldFraction=value)

    def setTaskMemory(self, value: float) -> Any:
        """Set the bytes that the sums of a task may take."""
        return self._set(taskMemory=value)

    def transformSchema(self, schema: StructType) -> StructType:
        """Return the columns of a frame that the model has transformed; refuse what cannot be learnt, by name."""
        self._check_inputs(schema)
        label, weight, validation = (
            self.getLabelCol(),
            self._get(self.weightCol),
            self._get(self.validationIndicatorCol),
        )
        require_names(schema.names, [name for name in (label, weight, validation) if name])
        advice = "use pyspark.ml.feature.StringIndexer, or nystream.spark.fit_auto, which takes classes by name"
        for what, name, remedy in (("labelCol", label, advice), ("weightCol", weight, "cast it")):
            kind = schema[name].dataType if name else DoubleType()
            if not is_number(kind) or isinstance(kind, BooleanType):
                raise ValueError(f"{what}={name!r} is {kind.simpleString()}, not numeric; {remedy}")
        return self._with_outputs(schema)

    def _learnt(self, dataset: Any, task: str) -> tuple[Model, int]:
        """Return the model of a frame whose columns are checked, and the number of its features."""
        refuse_stream(dataset, type(self).__name__, "nystream.spark.fit_stream")
        named, features, label = self._named, self.getFeaturesCol(), self.getLabelCol()
        weight, validation = self._get(self.weightCol) or None, self._get(self.validationIndicatorCol) or None
        inputs = (
            unfold(dataset, features, count_entries(dataset, features))
            if named is None
            else [column(name) for name in named]
        )
        others = [column(name) for name in (weight, validation) if name]
        rows = dataset.select(*inputs, column(label).cast("double").alias(label), *others)
        level = dataset.storageLevel
        is_kept = level.useMemory or level.useDisk
        if not is_kept:  # it is read several times
            rows = rows.persist()
        try:
            model = fit_auto(
                rows,
                label,
                task=task,
                weight=weight,
                validation=validation,
                held=self.getOrDefault(self.heldFraction),
                sample=self.getOrDefault(self.sampleSize),
                landmarks=self.getOrDefault(self.landmarks),
                big=self._get(self.big),
                rough=self._get(self.rough),
                task_memory=self.getOrDefault(self.taskMemory),
                seed=abs(self.getSeed()),
            )
        finally:
            if not is_kept:
                rows.unpersist()
        return model, len(inputs)


class _Trained(_Settings, Saved):
    """What the models of both estimators have in common."""

    def __init__(self, content: bytes = b"", facts: dict[str, Any] | None = None) -> None:
        super().__init__()
        self._set_defaults()
        self.content, self.facts = content, facts or {}
        self._model: Model | None = None

    @property
    def model(self) -> Model:
        """The `nystream.Model`: it explains, gives intervals, is served and goes on learning row by row."""
        if self._model is None:
            self._model = from_bytes(self.content)
        return self._model

    @property
    def numFeatures(self) -> int:
        """The number of features: of columns, or of the entries of vectors."""
        return int(self.facts["numFeatures"])

    def transformSchema(self, schema: StructType) -> StructType:
        """Return the columns of a transformed frame; refuse one that lacks columns, by name."""
        self._check_inputs(schema)
        return self._with_outputs(schema)

    def _answered(self, dataset: Any, fields: str, thresholds: list[float] | None = None) -> Any:
        """Return the frame with a struct of answers."""
        self.transformSchema(dataset.schema)
        named = self._named
        rows = (
            [as_array(dataset, self.getFeaturesCol(), self.numFeatures)]
            if named is None
            else [in_utc(dataset, name) for name in named]
        )
        names = None if named is None else tuple(named)
        ask = sql.pandas_udf(answering(self.content, names, self.facts.get("numClasses", 0), thresholds), fields)
        return dataset.withColumn(ANSWERS, ask(sql.struct(*rows)))

    def _row(self, value: Any) -> Array:
        return np.asarray(value.toArray() if hasattr(value, "toArray") else value, dtype=np.float64)[None, :]


class OnlineKernelRegressor(_Learning, Regressor, DefaultParamsWritable, DefaultParamsReadable):  # type: ignore[misc]
    """Regression with nothing to tune, as an Estimator of pyspark.ml: `nystream.spark.fit_auto` inside a Pipeline.

    Parameters have the names and defaults of Spark's own: `featuresCol` ("features"; vectors or arrays), `labelCol`
    ("label"), `predictionCol` ("prediction"), `weightCol`, `validationIndicatorCol`, `seed`. Instead of `featuresCol`,
    `inputCols` names columns of any kind: numbers, booleans, strings, dates and times, with nulls as missing values.
    `landmarks`, `big`, `rough`, `sampleSize`, `heldFraction` and `taskMemory` are those of `fit_auto`.

    A frame that is not cached is kept (`persist`) while it is learnt.
    """

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        inputCols: list[str] | None = None,
        weightCol: str | None = None,
        validationIndicatorCol: str | None = None,
        landmarks: int = 300,
        big: int | None = None,
        rough: int | None = None,
        sampleSize: int = 20_000,
        heldFraction: float = 0.1,
        taskMemory: float = 256e6,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._set_defaults()
        self._set(**self._input_kwargs)

    @keyword_only  # type: ignore[untyped-decorator]
    def setParams(self, **params: Any) -> OnlineKernelRegressor:
        """Set parameters by name."""
        return self._set(**self._input_kwargs)

    def _fit(self, dataset: Any) -> OnlineKernelRegressionModel:
        self.transformSchema(dataset.schema)
        model, features = self._learnt(dataset, "regression")
        found = OnlineKernelRegressionModel(to_bytes(model), {"numFeatures": features})
        return self._copyValues(found._resetUid(self.uid))


class OnlineKernelRegressionModel(_Trained, RegressionModel):  # type: ignore[misc]
    """The model of an `OnlineKernelRegressor`: a Transformer that adds the column `predictionCol`."""

    def predict(self, value: Any) -> float:
        """Return the prediction for one vector of features."""
        return float(self.model.predict(self._row(value))[0])

    def _transform(self, dataset: Any) -> Any:
        answered = self._answered(dataset, "prediction double")
        if not self.getPredictionCol():
            return answered.drop(ANSWERS)
        return answered.withColumn(self.getPredictionCol(), sql.col(f"{ANSWERS}.prediction")).drop(ANSWERS)


class OnlineKernelClassifier(_Learning, ProbabilisticClassifier, DefaultParamsWritable, DefaultParamsReadable):  # type: ignore[misc]
    """Classes with nothing to tune, as an Estimator of pyspark.ml: `nystream.spark.fit_auto` inside a Pipeline.

    Labels are numbers of classes 0, 1, 2 ..., as those of Spark's StringIndexer, whose metadata tell how many there
    are; without metadata it is the largest one plus 1. Beside the columns of `OnlineKernelRegressor` there are
    `probabilityCol` ("probability"), `rawPredictionCol` ("rawPrediction"; logarithms of the probabilities) and
    `thresholds`. The prediction has the names of the classes in its metadata where the label has them, so that
    IndexToString needs no labels.
    """

    @keyword_only  # type: ignore[untyped-decorator]
    def __init__(
        self,
        *,
        featuresCol: str = "features",
        labelCol: str = "label",
        predictionCol: str = "prediction",
        probabilityCol: str = "probability",
        rawPredictionCol: str = "rawPrediction",
        thresholds: list[float] | None = None,
        inputCols: list[str] | None = None,
        weightCol: str | None = None,
        validationIndicatorCol: str | None = None,
        landmarks: int = 300,
        big: int | None = None,
        rough: int | None = None,
        sampleSize: int = 20_000,
        heldFraction: float = 0.1,
        taskMemory: float = 256e6,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self._set_defaults()
        self._set(**self._input_kwargs)

    @keyword_only  # type: ignore[untyped-decorator]
    def setParams(self, **params: Any) -> OnlineKernelClassifier:
        """Set parameters by name."""
        return self._set(**self._input_kwargs)

    def _fit(self, dataset: Any) -> OnlineKernelClassificationModel:
        self.transformSchema(dataset.schema)
        label = self.getLabelCol()
        names = dataset.schema[label].metadata.get("ml_attr", {}).get("vals")
        classes = _count_classes(dataset, label, names)
        _check_thresholds(self._get(self.thresholds), classes)
        model, features = self._learnt(dataset, "classification")
        facts = {"numFeatures": features, "numClasses": classes, "labels": names}
        found = OnlineKernelClassificationModel(to_bytes(model), facts)
        return self._copyValues(found._resetUid(self.uid))


class OnlineKernelClassificationModel(_Trained, ProbabilisticClassificationModel):  # type: ignore[misc]
    """The model of an `OnlineKernelClassifier`: a Transformer that adds raw predictions, probabilities, predictions."""

    @property
    def numClasses(self) -> int:
        """The number of classes."""
        return int(self.facts["numClasses"])

    def predictProbability(self, value: Any) -> Any:
        """Return the probabilities of the classes for one vector of features."""
        return DenseVector(spread_over_classes(self.model, self._row(value), self.numClasses)[0])

    def predictRaw(self, value: Any) -> Any:
        """Return the logarithms of the probabilities of the classes for one vector of features."""
        return DenseVector(raw_predictions(self.predictProbability(value).toArray()))

    def predict(self, value: Any) -> float:
        """Return the number of the class for one vector of features."""
        return float(chosen(self.predictProbability(value).toArray()[None, :], self._thresholds())[0])

    def _thresholds(self) -> list[float] | None:
        found: list[float] | None = self._get(self.thresholds)
        _check_thresholds(found, self.numClasses)
        return found

    def _transform(self, dataset: Any) -> Any:
        fields = "raw array<double>, probability array<double>, prediction double"
        answered = self._answered(dataset, fields, self._thresholds())
        raw, probability, prediction = self.getRawPredictionCol(), self.getProbabilityCol(), self.getPredictionCol()
        for name, field in ((raw, "raw"), (probability, "probability")):
            if name:
                answered = answered.withColumn(name, array_to_vector(sql.col(f"{ANSWERS}.{field}")))
        if prediction:
            attributes: dict[str, Any] = {"type": "nominal", "name": prediction}
            labels = self.facts["labels"]
            attributes |= {"num_vals": self.numClasses} if labels is None else {"vals": labels}
            number = sql.col(f"{ANSWERS}.prediction").alias(prediction, metadata={"ml_attr": attributes})
            answered = answered.withColumn(prediction, number).withMetadata(prediction, {"ml_attr": attributes})
        return answered.drop(ANSWERS)


def _check_thresholds(thresholds: list[float] | None, classes: int) -> None:
    if thresholds is None:
        return
    if len(thresholds) != classes or min(thresholds) < 0 or sorted(thresholds)[1:2] == [0.0]:
        raise ValueError(
            f"thresholds={thresholds} must be {classes} numbers of 0 or more, one for each class, at most one of them 0"
        )


def _count_classes(dataset: Any, label: str, names: list[str] | None) -> int:
    """Return the number of classes; refuse labels that are not 0, 1, 2 ..."""
    y = column(label).cast("double")
    with clear_errors():
        found = dataset.agg(
            sql.max(y).alias("most"), sql.count_if((y < 0) | (y != sql.floor(y)) | sql.isnan(y)).alias("wrong")
        ).first()
    if found is None or found.most is None:
        raise ValueError(f"labelCol={label!r} has no labels: the frame has no rows, or all are null")
    if found.wrong or found.most >= MOST_CLASSES:
        raise ValueError(
            f"labelCol={label!r} must have numbers of classes 0, 1, 2 ... below {MOST_CLASSES}; {found.wrong} rows "
            f"have others, and the largest is {found.most:g}: use pyspark.ml.feature.StringIndexer"
        )
    classes = int(found.most) + 1
    return max(classes, len(names)) if names else classes
