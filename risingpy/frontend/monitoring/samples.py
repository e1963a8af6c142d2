"""The forms of metrics: families of samples, with the prefix that all of ours have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from risingpy.meta.durations import BOUNDS, Durations

PREFIX = "risingpy_"
Samples = Iterable[tuple[Sequence[str], float]]  # the labels' values, and the number


def gauge(name: str, text: str, samples: Samples, labels: Sequence[str] = ()) -> Metric:
    """A number that rises and falls."""
    family = GaugeMetricFamily(PREFIX + name, text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family


def counter(name: str, text: str, samples: Samples, labels: Sequence[str] = ()) -> Metric:
    """A number that only rises until the server stops; Prometheus calls it NAME_total."""
    family = CounterMetricFamily(PREFIX + name, text, labels=labels)
    for values, number in samples:
        family.add_metric(values, number)
    return family


def one(number: float) -> Samples:
    """The only sample of a family without labels."""
    return [((), number)]


def histogram(name: str, text: str, label: str, durations: Mapping[str, Durations]) -> Metric:
    """How many took how many seconds, by the values of a label."""
    family = HistogramMetricFamily(PREFIX + name, text, labels=[label])
    bounds = [*map(str, BOUNDS), "+Inf"]
    for value, found in durations.items():
        family.add_metric([value], list(zip(bounds, accumulate(found.counts), strict=True)), found.seconds)
    return family
