"""What the tinyllm scripts stand on. Nothing here imports a script."""

__version__ = "0.1.0"
