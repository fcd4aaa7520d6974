"""Pure functions on arrays: the statistics of every audit, probe and remedy."""

from typing import TYPE_CHECKING

from cuecard._lazy import lazy_names

if TYPE_CHECKING:
    from cuecard.stats.clusters.divergence import (
        cluster_log_p,
        jensen_shannon,
        kl_divergence,
        total_variation,
    )
    from cuecard.stats.clusters.peco import (
        ClusterDivergence,
        PecoCurve,
        PecoNull,
        SampleDesign,
        cluster_divergence,
        peco,
        peco_curve,
        peco_interval,
        peco_null,
    )
    from cuecard.stats.clusters.peco_starts import PecoStarts, peco_starts
    from cuecard.stats.cues.association import (
        artifact_z,
        binomial_log_p,
        cueness,
        lift,
        lmi,
        mutual_information,
        pmi,
        share,
    )
    from cuecard.stats.cues.redundancy import (
        ConditionalStrength,
        CueGroups,
        conditional_strength,
        group_redundant,
    )
    from cuecard.stats.cues.within_example import (
        WithinExampleTest,
        stratified_hypergeometric_log_p,
        within_example_test,
    )
    from cuecard.stats.intervals import (
        GoodnessOfFit,
        accuracy_log_p,
        clopper_pearson,
        goodness_of_fit,
        mixed_chance_log_p,
        newcombe_difference,
        overlapping_difference,
        percentile_bootstrap,
        wilson,
    )
    from cuecard.stats.models.agreement import relevance_cosines, token_relevance_agreement
    from cuecard.stats.multiple_testing import format_p, log10_p, log_q_values, q_values, state_probability

__all__ = [
    "ClusterDivergence",
    "ConditionalStrength",
    "CueGroups",
    "GoodnessOfFit",
    "PecoCurve",
    "PecoNull",
    "PecoStarts",
    "SampleDesign",
    "WithinExampleTest",
    "accuracy_log_p",
    "artifact_z",
    "binomial_log_p",
    "clopper_pearson",
    "cluster_divergence",
    "cluster_log_p",
    "conditional_strength",
    "cueness",
    "format_p",
    "goodness_of_fit",
    "group_redundant",
    "jensen_shannon",
    "kl_divergence",
    "lift",
    "lmi",
    "log10_p",
    "log_q_values",
    "mixed_chance_log_p",
    "mutual_information",
    "newcombe_difference",
    "overlapping_difference",
    "peco",
    "peco_curve",
    "peco_interval",
    "peco_null",
    "peco_starts",
    "percentile_bootstrap",
    "pmi",
    "q_values",
    "relevance_cosines",
    "share",
    "state_probability",
    "stratified_hypergeometric_log_p",
    "token_relevance_agreement",
    "total_variation",
    "wilson",
    "within_example_test",
]

__getattr__ = lazy_names(__name__)
