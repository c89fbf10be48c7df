#!/bin/sh
# Install missing programs with apt-get, if we are root: tools/programs.sh PROGRAM=PACKAGE …
set -eu
PATH="$PATH:/usr/sbin:/sbin"
missing=
for pair; do
  command -v "${pair%%=*}" >/dev/null || missing="$missing ${pair#*=}"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "not installed:$missing; tests that need them are skipped"
  exit 0
fi
echo "Installing$missing …"
apt-get update -qq
# shellcheck disable=SC2086 (one word per package)
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
