"""The forest scikit-learn would fit on all rows, fitted on the distinct ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cuecard.stats.arrays import Floats
from cuecard.stats.counted_forest.points import distinct_points


def forest_probabilities(
    train: npt.ArrayLike,
    labels: npt.ArrayLike,
    test: npt.ArrayLike,
    *,
    n_labels: int,
    trees: int,
    depth: int | None,
    seed: int = 0,
    weights: npt.ArrayLike | None = None,
) -> Floats:
    """Return P(label) for every test row from a random forest on the training rows.

    The numbers are those of ``RandomForestClassifier(trees, max_depth=depth, random_state=seed)``, bit for bit:
    the bootstrap draws rows as scikit-learn does, and the draws of equal rows with equal labels are then one
    weighted row, which leaves every count in every node, and so every split, as it was. `weights` of the training rows
    multiply how often a row was drawn.
    """
    from sklearn import config_context
    from sklearn.tree import DecisionTreeClassifier

    x = np.asarray(train, dtype=np.float32)
    y = np.asarray(labels, dtype=np.int64)
    cells = distinct_points(np.column_stack([x, y]))
    cell_rows = cells.values[:, :-1].astype(np.float32)
    cell_labels = cells.values[:, -1].astype(np.int64)
    test_points = distinct_points(np.asarray(test, dtype=np.float32))
    asked_rows = test_points.values.astype(np.float32)
    probabilities = np.zeros((len(test_points), n_labels))
    present = np.unique(y)
    row_weights = np.asarray(weights, dtype=np.float64)
    seeds = np.random.RandomState(seed)
    for _ in range(trees):
        tree_seed = seeds.randint(np.iinfo(np.int32).max)
        drawn = np.random.RandomState(tree_seed).randint(0, len(y), len(y), dtype=np.int32)
        mass = np.bincount(cells.index[drawn], None if weights is None else row_weights[drawn], len(cells))
        tree = DecisionTreeClassifier(max_depth=depth, max_features="sqrt", random_state=tree_seed)
        with config_context(skip_parameter_validation=True, assume_finite=True):  # the same for all trees
            tree.fit(cell_rows, cell_labels, sample_weight=mass.astype(np.float64), check_input=False)
            probabilities[:, present] += tree.predict_proba(asked_rows, check_input=False)
    of_rows: Floats = (probabilities / trees)[test_points.index]
    return of_rows
