#!/bin/bash
exec bash "$(dirname "$0")/python.bash" openpyxl "${0%.sh}.py"
