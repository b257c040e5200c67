"""dinoxide beside other CPU runtimes, measured in one interleaved run; `benchmarks/run.sh` is the command.

setup (binaries, checkpoints, graphs, inputs) → worker (a runtime as a process that is asked line by line) → process (our end of it, and
the guard against foreign load) → forward, side, cold, pictures (what is measured) → results (JSON) → record, chart (the page).
"""
