"""Tasks with a place: Spark runs a partition's task on the host that it prefers, if a core is free there in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from pyspark import SparkContext
from pyspark.core.rdd import RDD
from pyspark.serializers import NoOpSerializer

from risingpy.executors.cluster.order import EpochOrder
from risingpy.executors.cluster.shard_loading import HostShards
from risingpy.executors.cluster.task import load_shards


def located(context: SparkContext, hosts: Iterable[str | None]) -> Any:
    """A JavaRDD of one element in each partition, whose location is the host; None: any."""
    jvm: Any = context._jvm  # noqa: SLF001
    java = context._jsc.sc()  # noqa: SLF001 - PySpark has no RDDs with locations
    pairs = [jvm.scala.Tuple2(b"\0", jvm.PythonUtils.toSeq([] if host is None else [host])) for host in hosts]
    of_bytes = jvm.scala.reflect.ClassTag.apply(jvm.java.lang.Class.forName("[B"))
    return java.makeRDD(jvm.PythonUtils.toSeq(pairs), of_bytes).toJavaRDD()


def load_on_hosts(context: SparkContext, order: EpochOrder, by_host: HostShards) -> None:
    """Returns when the hosts have their shards, as of an epoch that was committed meanwhile."""
    # One task for a host: Spark would give a second one to another host, where a core is free.
    tasks: RDD[Any] = RDD(located(context, by_host), context, NoOpSerializer())
    tasks.mapPartitionsWithIndex(partial(_load, order, list(by_host.values()))).collect()


def _load(order: EpochOrder, shards: list[tuple[int, ...]], number: int, _: Iterable[bytes]) -> Iterator[int]:
    load_shards(order, shards[number])
    return iter(())
