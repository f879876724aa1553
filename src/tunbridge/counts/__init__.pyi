from tunbridge.counts.counter import Counter as Counter
from tunbridge.counts.information import (
    conditional_mutual_information as conditional_mutual_information,
    entropy as entropy,
    mutual_information as mutual_information,
)
from tunbridge.counts.moments import Moments as Moments, moments_within as moments_within
from tunbridge.counts.records import (
    Counts as Counts,
    PairCounts as PairCounts,
    TripleCounts as TripleCounts,
    merge_states as merge_states,
)
