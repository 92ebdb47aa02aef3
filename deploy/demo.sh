#!/usr/bin/env bash
# A coordinator, two agents, the echo target and one run, all on this machine; `make demo` calls it.
#
# Environment: PLAN, DURATION (in place of the plan's), EXIT=1 (end with the run, with its exit code),
# HTTP, AGENTS and TARGET (addresses to listen on; port 0 takes any free one).
set -euo pipefail
cd "$(dirname "$0")/.."

plan=${PLAN:-examples/demo.yaml}
volley=${VOLLEY_BIN:-${CARGO_TARGET_DIR:-target}/release/volley}
# The address that the plans in examples/ name; it is replaced by the one that the echo target really has.
plan_target=127.0.0.1:7080

scratch=$(mktemp -d)
pids=()

fail() {
  echo "demo: $*" >&2
  exit 1
}

# Ends what was started here, the latest first, and nothing else; what doesn't end within 5 s is killed.
# shellcheck disable=SC2317 # called by a trap
clean_up() {
  trap '' INT TERM
  local i tries
  for ((i = ${#pids[@]} - 1; i >= 0; i--)); do
    kill "${pids[i]}" 2>/dev/null || true
    for ((tries = 0; tries < 100; tries++)); do
      kill -0 "${pids[i]}" 2>/dev/null || break
      sleep 0.05
    done
    kill -KILL "${pids[i]}" 2>/dev/null || true
  done
  wait 2>/dev/null || true
  rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start NAME COMMAND...: starts it in a session of its own, so that Ctrl-C reaches the run alone and in time to print
# its summary; what it says goes to a file.
start() {
  local name=$1
  shift
  : >"$scratch/$name"
  setsid "$@" >"$scratch/$name" 2>&1 </dev/null &
  pids+=($!)
}

# said NAME PATTERN VARIABLE: waits until the process has printed what the pattern finds, and prints the first group.
said() {
  local name=$1 pattern=$2 variable=$3 pid=${pids[-1]} line
  for ((tries = 0; tries < 200; tries++)); do
    while IFS= read -r line; do
      if [[ $line =~ $pattern ]]; then
        echo "${BASH_REMATCH[1]}"
        return
      fi
    done <"$scratch/$name"
    if ! kill -0 "$pid" 2>/dev/null; then
      cat "$scratch/$name" >&2
      fail "the $name did not start; is its address taken? make demo $variable=127.0.0.1:0 takes any free one"
    fi
    sleep 0.05
  done
  cat "$scratch/$name" >&2
  fail "the $name did not say where it listens"
}

# The plan with the target's real address, and with DURATION where it was given.
write_plan() {
  local from=$1 to=$2 address=$3
  sed -e "s|$plan_target|$address|" -e "${DURATION:+s|^duration:.*|duration: $DURATION|}" "$from" >"$to"
  grep -q "$address" "$to" || fail "$from names no target at $plan_target"
  if [ -n "${DURATION:-}" ] && ! grep -q "^duration: $DURATION" "$to"; then
    fail "$from has no duration that DURATION could replace"
  fi
}

[ -x "$volley" ] || fail "$volley is missing: run \`make build\` first"
[ -r "$plan" ] || fail "$plan can't be read"
[[ ${DURATION:-} =~ ^[0-9a-z]*$ ]] || fail "DURATION is a number with a unit, such as 30s"

start target "$volley" target --listen "${TARGET:-127.0.0.1:7080}"
target=$(said target '(127\.0\.0\.1:[0-9]+)' TARGET)
start coordinator "$volley" coordinator --http "${HTTP:-127.0.0.1:7070}" --agents "${AGENTS:-127.0.0.1:7071}" \
  --store "$scratch/volley.db"
http=$(said coordinator '(http://[^ ]+)' HTTP)
agents=$(said coordinator 'agents on ([^ ]+)' AGENTS)
for name in one two; do
  start "agent-$name" "$volley" agent --coordinator "$agents" --name "$name" --state "$scratch/agents"
done

write_plan "$plan" "$scratch/plan.yaml" "$target"
echo "dashboard: $http"
code=0
"$volley" run "$scratch/plan.yaml" --coordinator "$http" || code=$?
if [ -n "${EXIT:-}" ] || [ "$code" -eq 130 ]; then exit "$code"; fi
echo "dashboard: $http (Ctrl-C ends the demo)"
wait -n "${pids[@]}" || true
fail "a process of the demo has ended by itself"
