//! Case 14: the generator's own shortage of local ports is called that, and not a failure of the target. In a network
//! namespace whose range of ports is narrow, target and generator together.

use std::process::Command;
use std::time::Duration;

use volley_e2e::{Process, Report, binary};

/// What runs in the namespace: a target, so many connections that somebody else holds to it, and the generator. The
/// target is started by its own process group's leader, so it ends with the shell.
const SCRIPT: &str = r#"
set -e
ip link set lo up
echo '40000 40099' > /proc/sys/net/ipv4/ip_local_port_range
volley=$1; held=$2; shift 2
"$volley" target --listen 127.0.0.1:8080 2>target.log &
trap 'kill %1' EXIT
for try in $(seq 100); do grep -q 'http://' target.log && break; sleep 0.05; done
if [ "$held" -gt 0 ]; then
  "$volley" http://127.0.0.1:8080/delay/6s -c "$held" -n "$held" >holder.log 2>&1 &
  for try in $(seq 100); do [ "$(ss -tnH state established dst 127.0.0.1:8080 | wc -l)" -ge "$held" ] && break; sleep 0.05; done
fi
"$volley" http://127.0.0.1:8080/delay/2s "$@" --json
"#;

/// Runs the generator with these arguments beside a holder of `held` connections; gives exit code, stdout and stderr.
fn in_namespace(held: u32, arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("unshare");
    // A user namespace of its own makes this work without being root.
    command.args(["--map-root-user", "--net", "bash", "-c", SCRIPT, "case-14"]);
    command.arg(binary()).arg(held.to_string()).args(arguments).current_dir(folder.path());
    let (status, stdout, stderr) = Process::start(&mut command).wait(Duration::from_secs(60));
    (status.code(), String::from_utf8_lossy(&stdout).into_owned(), stderr)
}

#[test]
fn case_14_a_plan_that_needs_more_ports_than_there_are_is_refused() {
    let (code, stdout, stderr) = in_namespace(0, &["-c", "150", "-n", "150"]);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    let report = Report::new(serde_json::from_str(&stdout).expect("a document"));
    for part in ["150", "100", "ip_local_port_range"] {
        assert!(report.text("sentence").contains(part), "{part} in {report:?}");
    }
    assert_eq!(report.count("started"), 0);
}

#[test]
fn case_14_a_run_that_finds_no_port_left_says_so() {
    // Of 100 ports somebody else has 50, which nobody can know before.
    let (code, stdout, stderr) = in_namespace(50, &["-c", "100", "-n", "150"]);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    let report = Report::new(serde_json::from_str(&stdout).expect("a document")).checked();
    let (ok, without) = (report.count("ok"), report.errors("local_ports"));
    assert_eq!((report.count("started"), ok + without), (150, 150), "{report:?}");
    assert!(ok >= 50 && without >= 50, "{ok} ok: {report:?}");
    assert_eq!(report.text("verdict"), "invalid");
    assert!(report.text("sentence").contains("local port"), "{report:?}");
}
