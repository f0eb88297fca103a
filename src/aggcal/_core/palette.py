"""The colours of all figures: a quantity has the same one in the report, plots and paper."""

AMBER, GREY, BLUE, RED, GREEN = "#bf8700", "#8a8f98", "#1f6feb", "#d1242f", "#1a7f37"

CONSENSUS, MODEL, CALIBRATED, REVERSED, TRUTH = AMBER, GREY, BLUE, RED, GREEN

INK, PAPER = "#1f2328", "#fff"
"""Text and ground of a figure that stands in a file of its own."""

NIGHT, PALE = "#0d1117", "#e6edf3"
"""Ground and text of such a figure on dark screens."""
