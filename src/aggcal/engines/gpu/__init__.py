"""The engine on a GPU: rows are moved once, all sweeps are made there.

The kernels are CUDA (``shared.cuh``, ``sums.cu``, ``products.cu``), compiled when they are first
asked for through CuPy, whose arrays the solver works with.
"""
