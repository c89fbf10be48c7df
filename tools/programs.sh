#!/bin/sh
# Install Debian's packages of programs that are not here, where we may: tools/programs.sh javac=openjdk-17-jdk-headless …
set -eu
PATH="$PATH:/usr/sbin:/sbin"
missing=
for pair; do
  command -v "${pair%%=*}" >/dev/null || missing="$missing ${pair#*=}"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "not here:$missing; what needs it is left out"
  exit 0
fi
echo "Installing$missing …"
apt-get update -qq
# shellcheck disable=SC2086 (a word each)
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
