"""Modules that stay are not looked through for garbage, and nothing else is kept."""

from __future__ import annotations

import subprocess
import sys

_LOADED = """
import gc, weakref
from aggcal._core.garbage import modules_stay
gc.collect()
seen = []
gc.callbacks.append(lambda phase, about: seen.append(phase))
gc.set_threshold(50)
with modules_stay():
    import aggcal.registry
    import http.client
assert not seen, seen
assert gc.isenabled()
kept = gc.get_freeze_count()
assert kept > 1000, kept
class Own: pass
gc.disable()
garbage = Own()
garbage.itself = garbage
seen_of = weakref.ref(garbage)
del garbage
gc.enable()
with modules_stay():
    import xml.dom.minidom
assert gc.get_freeze_count() <= kept
gc.collect()
assert seen_of() is None
gc.unfreeze()
gc.disable()
with modules_stay():
    pass
assert not gc.isenabled() and not gc.get_freeze_count()
"""

_FAILED = """
import gc
from aggcal._core.garbage import modules_stay
try:
    with modules_stay():
        import no_such_module
except ImportError:
    assert gc.isenabled()
    print("refused")
"""


def test_modules_are_kept_out_once() -> None:
    """What is loaded later, and the garbage of meanwhile, are looked through as ever."""
    subprocess.run([sys.executable, "-c", _LOADED], check=True)


def test_garbage_is_looked_for_again_if_a_module_cannot_be_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _FAILED], check=True, capture_output=True, text=True
    )
    assert done.stdout == "refused\n"
