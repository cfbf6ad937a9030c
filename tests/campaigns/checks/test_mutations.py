"""The faults that campaigns put into the product fit the product as it is now."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]

PUT_IN_EACH = """
import os, sys, traceback
from campaigns import nursery
nursery.load_the_product()
from campaigns.mutations import FAULTS, put_in
for name in sorted(FAULTS.keys() - {"record"}):
    child = os.fork()
    if not child:
        try:
            put_in(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(name)
"""


def test_every_fault_can_be_put_in() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PUT_IN_EACH],
        cwd=TESTS,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )
    assert done.stdout == "", done.stderr
