//! Several hosts on one machine: network namespaces that hang on one bridge, made by the test and gone with it.
//!
//! The test's own thread moves into the namespace with the bridge, and what it starts from there is on that host: its
//! coordinator, its target and its clients.

use std::fs::File;
use std::process::Command;

use rustix::fd::AsFd;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::place::Place;

/// The address of the host that the test is on.
pub const HUB: &str = "10.77.0.1";

/// A hub, where the test is, and hosts around it.
pub struct Network {
    name: String,
    hosts: usize,
}

impl Network {
    /// Makes a network with that many hosts and moves the calling thread to its hub. `None` where that isn't allowed: it
    /// takes root, and says so.
    ///
    /// # Panics
    /// If the kernel can't do it though we are root.
    #[must_use]
    pub fn enter(hosts: usize) -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            eprintln!("SKIPPED: network namespaces take root, and this test is not run as root");
            return None;
        }
        let network = Self { name: format!("vly{}", std::process::id()), hosts };
        ip(&["netns", "add", &network.name]);
        let namespace = File::open(format!("/run/netns/{}", network.name)).expect("it was just made");
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).expect("root may");
        ip(&["link", "set", "lo", "up"]);
        ip(&["link", "add", "hub", "type", "bridge"]);
        ip(&["addr", "add", &format!("{HUB}/24"), "dev", "hub"]);
        ip(&["link", "set", "hub", "up"]);
        (0..hosts).for_each(|host| network.add(host));
        Some(network)
    }

    fn add(&self, host: usize) {
        let (namespace, port) = (self.namespace(host), port(host));
        ip(&["netns", "add", &namespace]);
        ip(&["link", "add", &port, "type", "veth", "peer", "name", "eth0", "netns", &namespace]);
        ip(&["link", "set", &port, "master", "hub", "up"]);
        let inside = |words: &[&str]| ip(&[&["-n", &namespace], words].concat());
        inside(&["addr", "add", &format!("10.77.0.{}/24", 10 + host), "dev", "eth0"]);
        inside(&["link", "set", "eth0", "up"]);
        inside(&["link", "set", "lo", "up"]);
    }

    fn namespace(&self, host: usize) -> String {
        format!("{}h{host}", self.name)
    }

    /// A host, counted from 0.
    #[must_use]
    pub fn host(&self, host: usize) -> Place {
        Place::Host { namespace: self.namespace(host), ahead_s: 0 }
    }

    /// Pulls a host's plug: its packets, and those for it, are lost, and nobody is told.
    pub fn cut(&self, host: usize) {
        ip(&["link", "set", &port(host), "down"]);
    }

    /// Puts it back in.
    pub fn restore(&self, host: usize) {
        ip(&["link", "set", &port(host), "up"]);
    }

    /// A host's packets to the hub go nowhere, though its link is up.
    pub fn blackhole(&self, host: usize) {
        ip(&["-n", &self.namespace(host), "route", "add", "blackhole", &format!("{HUB}/32")]);
    }

    /// The way to the hub is there again.
    pub fn unblackhole(&self, host: usize) {
        ip(&["-n", &self.namespace(host), "route", "del", "blackhole", &format!("{HUB}/32")]);
    }
}

impl Drop for Network {
    /// Processes of the hosts are to be ended before; the namespaces go with their names, and the links with them.
    fn drop(&mut self) {
        for host in 0..self.hosts {
            let _ = Command::new("ip").args(["netns", "del", &self.namespace(host)]).status();
        }
        let _ = Command::new("ip").args(["netns", "del", &self.name]).status();
    }
}

/// The hub's end of a host's cable.
fn port(host: usize) -> String {
    format!("port{host}")
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().expect("iproute2 is installed: run `make test`");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "ip {}: {said}", arguments.join(" "));
}
