"""Whether a trained model has learnt secrets of its logs: `python -m tinyllm.leaks`.

`candidates` finds the secrets, `guessing` says how well one could guess them, `scoring` what the
model knows of them, `speaking` what it writes, and `checking` puts these together.
"""
