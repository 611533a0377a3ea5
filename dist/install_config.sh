#!/bin/sh
# install_config.sh EXAMPLE FILE -- installs the configuration where there is
# none: an administrator's file is never replaced.
set -eu
to=${DESTDIR:-}$2
[ ! -e "$to" ] || exit 0
mkdir -p "$(dirname "$to")"
cp "$1" "$to"
chmod 644 "$to"
