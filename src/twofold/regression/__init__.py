"""Phase 2: regression from features to targets, with a network or any other regressor.

Features and targets come in, an embedder goes out; pairs are unknown here.
"""

from twofold.regression._augment import Augment, refuse_augmented
from twofold.regression._bit_classifiers import (
    BitClassifiers,
    fit_bit_classifiers,
    is_bit_classifier,
    trees,
)
from twofold.regression._bit_layer import with_bit_layer, with_joint_signs
from twofold.regression._embedder_files import (
    Embedder,
    check_embedding,
    load_embedder,
    save_embedder,
)
from twofold.regression._expected_target import SMOOTHING, PlannedRegression, possible_regression
from twofold.regression._feature_files import (
    DATA_ERRORS,
    as_table,
    load_features,
    refuse_other_rows,
    save_features,
)
from twofold.regression._feature_skip import with_feature_skip
from twofold.regression._features import (
    Features,
    as_numbers,
    equal_rows,
    is_memory_mapped,
    item_shape,
    n_rows,
    open_features,
)
from twofold.regression._fit import (
    FittedEmbedder,
    fit_embedder,
    part_examples,
    refresh_embedder,
)
from twofold.regression._input_checks import check_features, preprocessed, sound_features
from twofold.regression._inputs import Inputs
from twofold.regression._joining import workers
from twofold.regression._joint_signs import code_agreement
from twofold.regression._layers import (
    WIDEST,
    LayerNames,
    layer_batches,
    layer_names,
    read_layers,
)
from twofold.regression._linear_map import LinearMap, describe_embedder, linear_map
from twofold.regression._network import (
    MILD,
    STRONG,
    Network,
    Regression,
    Regularisation,
    as_network,
    checkpoint_path,
    epoch_callback,
    is_network,
    refuse_unknown_embedder,
    resolve_network,
)
from twofold.regression._network_embedder import (
    NetworkEmbedder,
    OutputScale,
    check_points,
    predict_points,
)
from twofold.regression._networks import NETWORKS, NetworkName, build_network, fill_form, mlp
from twofold.regression._norm_gelu import Chain
from twofold.regression._onnx_embedder import write_embedder
from twofold.regression._preparation import (
    network_kind,
    out_of_memory_sentence,
    prepare_network,
    rebuild_network,
)
from twofold.regression._projection import FeaturesAsGiven, Projection, fit_projection
from twofold.regression._regression_task import RegressionTask
from twofold.regression._regressor import RegressorEmbedder, append_rows, fit_regressor, take_rows
from twofold.regression._ridge_map import RIDGE, RidgeBasis, RidgeMap, RidgeRegression, ridge_basis
from twofold.regression._task import Task, validation_loss
from twofold.regression._threads import survives_fork, threads_beside, threads_for
from twofold.regression._training import train_network
from twofold.regression._training_config import (
    Callback,
    Epoch,
    TrainingConfig,
    TrainingHistory,
)
from twofold.regression._views import refuse_views
from twofold.regression._workers import Workers, alone

__all__ = [
    "DATA_ERRORS",
    "MILD",
    "NETWORKS",
    "RIDGE",
    "SMOOTHING",
    "STRONG",
    "WIDEST",
    "Augment",
    "BitClassifiers",
    "Callback",
    "Chain",
    "Embedder",
    "Epoch",
    "Features",
    "FeaturesAsGiven",
    "FittedEmbedder",
    "Inputs",
    "LayerNames",
    "LinearMap",
    "Network",
    "NetworkEmbedder",
    "NetworkName",
    "OutputScale",
    "PlannedRegression",
    "Projection",
    "Regression",
    "RegressionTask",
    "RegressorEmbedder",
    "Regularisation",
    "RidgeBasis",
    "RidgeMap",
    "RidgeRegression",
    "Task",
    "TrainingConfig",
    "TrainingHistory",
    "Workers",
    "alone",
    "append_rows",
    "as_network",
    "as_numbers",
    "as_table",
    "build_network",
    "check_embedding",
    "check_features",
    "check_points",
    "checkpoint_path",
    "code_agreement",
    "describe_embedder",
    "epoch_callback",
    "equal_rows",
    "fill_form",
    "fit_bit_classifiers",
    "fit_embedder",
    "fit_projection",
    "fit_regressor",
    "is_bit_classifier",
    "is_memory_mapped",
    "is_network",
    "item_shape",
    "layer_batches",
    "layer_names",
    "linear_map",
    "load_embedder",
    "load_features",
    "mlp",
    "n_rows",
    "network_kind",
    "open_features",
    "out_of_memory_sentence",
    "part_examples",
    "possible_regression",
    "predict_points",
    "prepare_network",
    "preprocessed",
    "read_layers",
    "rebuild_network",
    "refresh_embedder",
    "refuse_augmented",
    "refuse_other_rows",
    "refuse_unknown_embedder",
    "refuse_views",
    "resolve_network",
    "ridge_basis",
    "save_embedder",
    "save_features",
    "sound_features",
    "survives_fork",
    "take_rows",
    "threads_beside",
    "threads_for",
    "train_network",
    "trees",
    "validation_loss",
    "with_bit_layer",
    "with_feature_skip",
    "with_joint_signs",
    "workers",
    "write_embedder",
]
