#!/usr/bin/env bash
# Installs those of the named commands that are missing: from apt, or from crates.io for Cargo's own helpers.
# Works as root, or through sudo.
set -euo pipefail

say() { echo "need.sh: $*" >&2; }

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    say "'$*' needs root: run it yourself, then try again"
    return 1
  fi
}

# The Debian packages that bring a command.
packages_of() {
  case "$1" in
    cc) echo gcc libc6-dev ;;
    npm) echo nodejs npm ;;
    node) echo nodejs ;;
    nginx) echo nginx-light ;;
    chromium) echo chromium fonts-dejavu-core ;;
    ip | ss) echo iproute2 ;;
    unshare) echo util-linux ;;
    *) echo "$1" ;;
  esac
}

is_there() {
  # No command comes with it; it is for the system's Python, before which another one may stand on the path.
  if [ "$1" = python3-prometheus-client ]; then
    /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null
    return
  fi
  # nginx is in /usr/sbin, which is not on everyone's path.
  PATH="$PATH:/usr/sbin" command -v "$1" >/dev/null
}

# Tests start their own nginx; Debian's way to keep a package from starting its service is this file.
POLICY=/usr/sbin/policy-rc.d
policy_is_ours=

without_services() {
  if [ ! -e "$POLICY" ]; then
    as_root sh -c "printf '#!/bin/sh\nexit 101\n' >$POLICY && chmod 755 $POLICY"
    policy_is_ours=1
  fi
}

restore_services() {
  if [ -n "$policy_is_ours" ]; then as_root rm -f "$POLICY"; fi
}
trap restore_services EXIT

apt_packages=()
cargo_packages=()
for command in "$@"; do
  if is_there "$command"; then continue; fi
  case "$command" in
    cargo-*) cargo_packages+=("$command") ;;
    *) read -ra packages <<<"$(packages_of "$command")"; apt_packages+=("${packages[@]}") ;;
  esac
done

if [ "${#apt_packages[@]}" -gt 0 ]; then
  if ! command -v apt-get >/dev/null; then
    say "there is no apt-get here; install these yourself: ${apt_packages[*]}"
    exit 1
  fi
  say "installing ${apt_packages[*]}"
  without_services
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${apt_packages[@]}"
fi

for package in "${cargo_packages[@]}"; do
  say "installing $package"
  cargo install --locked "$package"
done
