"""The names of the package, each once (see ``_core.lazy``)."""

from tunbridge import errors as errors, plots as plots, reasoning as reasoning
from tunbridge._version import __version__ as __version__
from tunbridge.classifiers import (
    A2DEClassifier as A2DEClassifier,
    AODEClassifier as AODEClassifier,
    BayesForestClassifier as BayesForestClassifier,
    BayesNetClassifier as BayesNetClassifier,
    BayesOptimalClassifier as BayesOptimalClassifier,
    CalibratedClassifier as CalibratedClassifier,
    Discretiser as Discretiser,
    JoinedNaiveBayesClassifier as JoinedNaiveBayesClassifier,
    KDBClassifier as KDBClassifier,
    MultinetClassifier as MultinetClassifier,
    NaiveBayesClassifier as NaiveBayesClassifier,
    SelectiveKDBClassifier as SelectiveKDBClassifier,
    SelectiveNaiveBayesClassifier as SelectiveNaiveBayesClassifier,
    SemiSupervisedClassifier as SemiSupervisedClassifier,
    TANClassifier as TANClassifier,
    WeightedNaiveBayesClassifier as WeightedNaiveBayesClassifier,
)
from tunbridge.counts import (
    Counter as Counter,
    Counts as Counts,
    PairCounts as PairCounts,
    conditional_mutual_information as conditional_mutual_information,
    entropy as entropy,
    mutual_information as mutual_information,
)
from tunbridge.data import (
    Discretisation as Discretisation,
    Table as Table,
    Variable as Variable,
    as_table as as_table,
    datasets as datasets,
    discretise as discretise,
    read_table as read_table,
    with_date_parts as with_date_parts,
    with_indicators as with_indicators,
)
from tunbridge.data.remarks import remarks as remarks
from tunbridge.decisions import (
    Explanation as Explanation,
    Importance as Importance,
    WhatIf as WhatIf,
)
from tunbridge.errors import (
    ConvergenceWarning as ConvergenceWarning,
    DataError as DataError,
    DataWarning as DataWarning,
    EmptyVersionSpaceError as EmptyVersionSpaceError,
    FileMissingError as FileMissingError,
    FormatError as FormatError,
    ImpossibleEvidenceError as ImpossibleEvidenceError,
    MemoryForecastError as MemoryForecastError,
    PrecisionWarning as PrecisionWarning,
    TunbridgeError as TunbridgeError,
    TunbridgeWarning as TunbridgeWarning,
    UnknownStateError as UnknownStateError,
    UnknownVariableError as UnknownVariableError,
    UnseenStateWarning as UnseenStateWarning,
    ZeroProbabilityWarning as ZeroProbabilityWarning,
)
from tunbridge.evaluation import (
    ClassifierChoice as ClassifierChoice,
    Comparison as Comparison,
    classify as classify,
    compare_classifiers as compare_classifiers,
)
from tunbridge.graph import (
    CPDAG as CPDAG,
    DAG as DAG,
    GraphComparison as GraphComparison,
    UndirectedGraph as UndirectedGraph,
    compare_graphs as compare_graphs,
    shd as shd,
)
from tunbridge.inference import (
    Conflict as Conflict,
    EvidenceExplanation as EvidenceExplanation,
    Forecast as Forecast,
    MostProbable as MostProbable,
    Posteriors as Posteriors,
)
from tunbridge.learning import (
    AIC as AIC,
    BIC as BIC,
    EM as EM,
    FAN as FAN,
    FNML as FNML,
    GES as GES,
    K2 as K2,
    QNML as QNML,
    TAN as TAN,
    ArcStrengths as ArcStrengths,
    BackOff as BackOff,
    BDeu as BDeu,
    BDs as BDs,
    ChowLiu as ChowLiu,
    Constraints as Constraints,
    Dirichlet as Dirichlet,
    DriftMonitor as DriftMonitor,
    DriftSignal as DriftSignal,
    Exact as Exact,
    Fit as Fit,
    FitStep as FitStep,
    GradientAscent as GradientAscent,
    HillClimbing as HillClimbing,
    KDependence as KDependence,
    LearnedDAG as LearnedDAG,
    LogLikelihood as LogLikelihood,
    Missingness as Missingness,
    NetworkUpdate as NetworkUpdate,
    NodeAverage as NodeAverage,
    OrderSearch as OrderSearch,
    SparseCandidate as SparseCandidate,
    StateChoice as StateChoice,
    StructuralEM as StructuralEM,
    StructuralFit as StructuralFit,
    StructuralStep as StructuralStep,
    Tabu as Tabu,
    TracedMove as TracedMove,
    bootstrap_structure as bootstrap_structure,
    choose_states as choose_states,
    fit_parameters as fit_parameters,
    impute as impute,
    learn_network as learn_network,
    learn_structure as learn_structure,
    merge_networks as merge_networks,
    missingness as missingness,
    posterior_structure as posterior_structure,
    score_structure as score_structure,
    update_network as update_network,
)
from tunbridge.models import (
    load as load,
)
from tunbridge.network import (
    BayesianNetwork as BayesianNetwork,
    example_network as example_network,
    read_network as read_network,
)
from tunbridge.plots.networks import draw as draw
from tunbridge.probability import (
    CPT as CPT,
    ConditionalTable as ConditionalTable,
    Distribution as Distribution,
    Laplace as Laplace,
    LinearGaussian as LinearGaussian,
    MEstimate as MEstimate,
    Mixture as Mixture,
    NoisyMaxCPT as NoisyMaxCPT,
    SparseCPT as SparseCPT,
    as_cpt as as_cpt,
    deterministic as deterministic,
    noisy_max as noisy_max,
    noisy_or as noisy_or,
)
from tunbridge.reasoning import (
    DiagnosticTest as DiagnosticTest,
    FindS as FindS,
    HypothesisSpace as HypothesisSpace,
    VersionSpace as VersionSpace,
    bayes_rule as bayes_rule,
)
from tunbridge.report.report import DataReport as DataReport, report as report
from tunbridge.sequences import (
    SequenceClassifier as SequenceClassifier,
    SequenceExplanation as SequenceExplanation,
    SequenceStream as SequenceStream,
)
from tunbridge.temporal import (
    HiddenMarkovModel as HiddenMarkovModel,
    HMMClassifier as HMMClassifier,
    emissions as emissions,
)
from tunbridge.temporal.dynamic import (
    DynamicBayesianNetwork as DynamicBayesianNetwork,
    fit_dynamic as fit_dynamic,
    lag_strengths as lag_strengths,
    learn_dynamic as learn_dynamic,
)
from tunbridge.text import (
    TextClassifier as TextClassifier,
    TextExplanation as TextExplanation,
    read_documents as read_documents,
)
