"""The calibrators of Stage 2, and what they are made of."""
