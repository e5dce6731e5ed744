"""Phase 2: regression from features to targets, with a network or any other regressor.

Features and targets come in, an embedder goes out; pairs are unknown here.
"""

from twofold.regression._expected_target import SMOOTHING
from twofold.regression._features import (
    Features,
    is_memory_mapped,
    item_shape,
    n_rows,
    open_features,
    prepare_features,
)
from twofold.regression._fit import (
    FittedEmbedder,
    Regression,
    fit_embedder,
    part_examples,
    refresh_embedder,
    refuse_flipped_vectors,
    refuse_unknown_embedder,
)
from twofold.regression._landmarks import LandmarkMap, MapBasis, landmark_basis, linear_basis
from twofold.regression._linear_path import (
    LinearPath,
    RawMap,
    beside_features,
    fit_raw_map,
)
from twofold.regression._network_embedder import NetworkEmbedder, flip_some, predict_points
from twofold.regression._networks import NETWORKS, build_network, mlp
from twofold.regression._preparation import (
    build_scaled_network,
    is_map,
    is_network,
    out_of_memory_sentence,
    prepare_network,
)
from twofold.regression._regression_task import RegressionTask
from twofold.regression._regressor import (
    RegressorEmbedder,
    WithinLimits,
    as_regressor,
    fit_regressor,
    map_as_regressor,
    take_rows,
)
from twofold.regression._task import Task, validation_loss
from twofold.regression._training import (
    Epoch,
    TrainingConfig,
    TrainingHistory,
    train_network,
)

__all__ = [
    "NETWORKS",
    "SMOOTHING",
    "Epoch",
    "Features",
    "FittedEmbedder",
    "LandmarkMap",
    "LinearPath",
    "MapBasis",
    "NetworkEmbedder",
    "RawMap",
    "Regression",
    "RegressionTask",
    "RegressorEmbedder",
    "Task",
    "TrainingConfig",
    "TrainingHistory",
    "WithinLimits",
    "as_regressor",
    "beside_features",
    "build_network",
    "build_scaled_network",
    "fit_embedder",
    "fit_raw_map",
    "fit_regressor",
    "flip_some",
    "is_map",
    "is_memory_mapped",
    "is_network",
    "item_shape",
    "landmark_basis",
    "linear_basis",
    "map_as_regressor",
    "mlp",
    "n_rows",
    "open_features",
    "out_of_memory_sentence",
    "part_examples",
    "predict_points",
    "prepare_features",
    "prepare_network",
    "refresh_embedder",
    "refuse_flipped_vectors",
    "refuse_unknown_embedder",
    "take_rows",
    "train_network",
    "validation_loss",
]
