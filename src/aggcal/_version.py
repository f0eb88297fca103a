"""The version, by itself, so that whoever states it imports nothing else."""

__version__ = "0.1.0"
