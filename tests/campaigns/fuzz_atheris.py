"""One target under atheris, in a process of its own: `-m campaigns.fuzz_atheris TARGET [OPTION…]`.

The options are libFuzzer's, which ends the process at the first failure and leaves the input beside `-artifact_prefix`.
"""

import importlib
import sys
from typing import Any


def main() -> None:
    atheris: Any = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["sessiond"], enable_loader_override=False):
        targets = importlib.import_module("campaigns.fuzz_targets")
    check = targets.TARGETS[sys.argv.pop(1)]
    atheris.Setup(sys.argv, check)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
