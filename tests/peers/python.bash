# python.bash MODULE SCRIPT [WORD...] -- run by a Python that has the module: its
# Debian package is the system's Python's, and another may come first in PATH.
python=python3
/usr/bin/python3 -c "import $1" 2>/dev/null && python=/usr/bin/python3
exec "$python" "${@:2}"
