//! Texts of real machines: where the groups of a process are found, and what they say.

use super::*;

/// A machine that has both versions; its mounts of version 1 are one for each controller.
const BOTH: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resv_strict
31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
/// Its groups of a process.
const IN_BOTH: &str = "\
9:name=systemd:/
4:memory:/process_api/ef88fce4
3:cpuset:/cpus
2:cpuacct:/acct
1:cpu:/jobs/load
0::/
";
/// A machine under systemd with version 2 alone.
const TWO: &str = "\
24 29 0:22 / /proc rw,nosuid,nodev,noexec,relatime shared:12 - proc proc rw
30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
";
/// A container that sees version 1 from its own group down, and knows its path from the root.
const CONTAINER: &str = "\
733 732 0:72 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,mode=755
735 733 0:33 /docker/0a1b /sys/fs/cgroup/cpu,cpuacct ro,nosuid,nodev,noexec,relatime master:13 - cgroup cgroup rw,cpu,cpuacct
736 733 0:34 /docker/0a1b /sys/fs/cgroup/memory ro,nosuid,nodev,noexec,relatime master:14 - cgroup cgroup rw,memory
";

#[test]
fn groups_are_found_wherever_they_are_mounted() {
    let check = |membership: &str, mountinfo: &str, expected: &[&str]| {
        let found = directories(membership, mountinfo);
        assert_eq!(
            found,
            expected.iter().map(PathBuf::from).collect::<Vec<_>>(),
            "{membership}in\n{mountinfo}"
        );
    };
    check(
        IN_BOTH,
        BOTH,
        &[
            "/sys/fs/cgroup/cpu/jobs/load",
            "/sys/fs/cgroup/cpu/jobs",
            "/sys/fs/cgroup/cpu",
            "/sys/fs/cgroup/unified",
        ],
    );
    check(
        "0::/user.slice/volley agent.service\n",
        TWO,
        &["/sys/fs/cgroup/user.slice/volley agent.service", "/sys/fs/cgroup/user.slice", "/sys/fs/cgroup"],
    );
    check("0::/\n", TWO, &["/sys/fs/cgroup"]);
    check(
        "5:memory:/docker/0a1b\n4:cpu,cpuacct:/docker/0a1b/inner\n",
        CONTAINER,
        &["/sys/fs/cgroup/cpu,cpuacct/inner", "/sys/fs/cgroup/cpu,cpuacct"],
    );
    // The mount is of another group.
    check("4:cpu,cpuacct:/docker/0a1bc\n", CONTAINER, &[]);
    // Version 2 alone is mounted, and the process is in version 1 alone.
    check("4:cpu:/jobs\n", TWO, &[]);
    check("", BOTH, &[]);
    check(IN_BOTH, "", &[]);
    check("nonsense\n1:cpu\n", "nonsense\n1 2 - cgroup2\n", &[]);
}

#[test]
fn groups_above_a_namespace_are_found_as_far_as_they_are_seen() {
    let check = |root: &str, path: &str, expected: &[&str]| {
        let mountinfo = format!("30 23 0:26 {root} /my\\040groups\\134x rw - cgroup2 none rw\n");
        let found = directories(&format!("0::{path}\n"), &mountinfo);
        assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>(), "{root} {path}");
    };
    check("/", "/a", &["/my groups\\x/a", "/my groups\\x"]);
    // The mount is from two groups above the namespace's root.
    check("/../..", "/a", &["/my groups\\x"]);
    check("/..", "/", &["/my groups\\x"]);
    // The process is outside its own namespace.
    check("/", "/../b", &[]);
}

#[test]
fn of_several_mounts_the_one_that_shows_most_is_taken() {
    let mountinfo = "\
40 1 0:26 /a/b /inner rw - cgroup2 none rw
41 1 0:26 / /outer rw - cgroup2 none rw
42 1 0:26 /other /elsewhere rw - cgroup2 none rw
";
    let expected = ["/outer/a/b/c", "/outer/a/b", "/outer/a", "/outer"].map(PathBuf::from);
    assert_eq!(directories("0::/a/b/c\n", mountinfo), expected);
}

#[test]
fn a_deep_chain_is_cut() {
    let path = "/a".repeat(MOST_GROUPS + 5);
    let found = directories(&format!("0::{path}\n"), TWO);
    assert_eq!(found.len(), MOST_GROUPS);
    assert_eq!(found[0], Path::new(&format!("/sys/fs/cgroup{path}")));
}

#[test]
fn throttled_time_is_read_of_both_versions() {
    for (stat, expected) in [
        (
            "usage_usec 5200108\nuser_usec 4000104\nsystem_usec 1200004\nnice_usec 0\ncore_sched.force_idle_usec 0\n\
             nr_periods 52\nnr_throttled 50\nthrottled_usec 4012345\nnr_bursts 0\nburst_usec 0\n",
            Some(4_012_345_000),
        ),
        (
            "nr_periods 30\nnr_throttled 30\nthrottled_time 2109659022\nnr_bursts 0\nburst_time 0\n",
            Some(2_109_659_022),
        ),
        ("usage_usec 19198770083\nuser_usec 14178002090\nsystem_usec 5020767992\n", None),
        ("throttled_usec x\n", None),
        ("throttled_usec 18446744073709551615\n", None),
        ("", None),
    ] {
        assert_eq!(throttled_ns(stat), expected, "{stat:?}");
    }
}

#[test]
fn escapes_of_paths_are_undone() {
    for (written, expected) in [
        ("/plain", "/plain"),
        ("/a\\040b\\011c\\134d\\012e", "/a b\tc\\d\ne"),
        ("/odd\\04", "/odd\\04"),
        ("/odd\\999\\", "/odd\\999\\"),
        ("/ä\\040ö\\ä", "/ä ö\\ä"),
    ] {
        assert_eq!(unescaped(written), expected, "{written:?}");
    }
}
