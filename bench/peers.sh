#!/usr/bin/env bash
# Volley side by side with its peers, in paired rounds on one machine; bench/README.md says how to read it.
#
# bench/peers.sh ROW... [--rounds N] [--fresh]; --help lists the rows.
# Environment: VOLLEY_BIN (measure this program instead of building target/release/volley).
set -euo pipefail
cd "$(dirname "$0")/.."

deploy/need.sh python3
export PYTHONDONTWRITEBYTECODE=1

for word in "$@"; do
  case "$word" in
    -h | --help) exec python3 bench/peers/main.py --help ;;
  esac
done

# It also checks the arguments, before anything is installed or built.
needs=$(python3 bench/peers/main.py --needs "$@")
mapfile -t tools <<<"$needs"
bench/install.sh "${tools[@]}"
# Standard output is for the results.
if [ -z "${VOLLEY_BIN:-}" ]; then make --no-print-directory build >&2; fi

exec python3 bench/peers/main.py "$@"
