"""Judgments in shards: threads of this process (`local`) or the workers of a cluster (`dask`).

A `shard` answers questions about its rows, `rows` adds the answers up, and the solver asks as it
asks rows in memory. `dask_cluster` starts a cluster, `dask_files` has its workers read and number
files by the tasks of `dask_tasks`, and `dask_shards` asks them by the messages of `dask_asking`.
"""
