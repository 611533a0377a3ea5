#!/bin/bash
# twarc comes by pip, the other modules as packages of the system's Python.
module=openpyxl
python3 -c "import twarc" 2>/dev/null && module=twarc
exec bash "$(dirname "$0")/python.bash" $module "${0%.sh}.py"
