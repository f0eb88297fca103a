"""Draw the picture that README shows: the calibration figure of the demo on Dots."""

from pathlib import Path

import numpy as np

from aggcal.assessment import assess
from aggcal.datasets import load
from aggcal.report.axes import standalone
from aggcal.report.figures import calibration_figure

dots = load("dots")
calibration = assess(dots.judgments, dots.scores, warn=False).calibration
if calibration is None or calibration.low is None or calibration.high is None:
    raise SystemExit("Dots gave no calibration")
picture = calibration_figure(
    calibration.item_ids,
    np.arange(1, len(calibration.item_ids) + 1),
    calibration.model,
    calibration.calibrated,
    (calibration.low, calibration.high),
)
target = Path(__file__).with_name("demo.svg")
target.write_text(standalone(picture), encoding="utf-8")
print(f"wrote {target.name}")  # noqa: T201
