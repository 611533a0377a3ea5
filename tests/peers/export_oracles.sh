#!/bin/bash
# The modules of twarc, where a Python has them.
exec bash "$(dirname "$0")/python.bash" twarc "${0%.sh}.py"
