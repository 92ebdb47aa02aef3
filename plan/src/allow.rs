//! Which targets may be loaded, and how hard: rules that a coordinator holds plans and the addresses of their destinations
//! against, and an agent once more, with every address that it is about to connect to.
//!
//! A rule is `WHOM[:PORT[-PORT]] [max RATE]`, where WHOM is a name (`shop.test`), all names below one (`*.example.org`),
//! an address or a network (`10.0.0.7`, `10.0.0.0/8`, `[fd00::/8]:8080`), or `any`; or it is about a Unix socket
//! (`unix:/run/app.sock`), or about all of them (`unix:*`), which `any` is not: what listens there trusts who is on its
//! machine.
//!
//! Link-local addresses are for those only whose rule names that very address, since the services behind them trust
//! whoever reaches them; and where clouds hand out their credentials, nothing is ever loaded.

mod rule;

use std::fmt::Display;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

use crate::model::{Destination, Level, Load, Model, Plan, Remote};
use crate::shape::Rate;
use rule::Rule;

pub use rule::{RuleError, RuleFault};

/// Where clouds keep what a machine may know of itself, its credentials among it.
const METADATA: [IpAddr; 9] = [
    // With nearly all of them.
    v4(169, 254, 169, 254),
    // Amazon: for containers of ECS, and for pods of EKS.
    v4(169, 254, 170, 2),
    v4(169, 254, 170, 23),
    // Alibaba.
    v4(100, 100, 100, 200),
    // Azure.
    v4(168, 63, 129, 16),
    // Oracle.
    v4(192, 0, 0, 192),
    // Amazon, the second for pods of EKS.
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23)),
    // Google.
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

const fn v4(a: u8, b: u8, c: u8, d: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(a, b, c, d))
}

/// Rules, of which one is enough.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowList {
    rules: Vec<Rule>,
    /// What is to be borne; without it, rules that bound the rate count as well as others.
    burden: Option<Burden>,
}

/// How hard a load is, as rules see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Burden {
    /// The most arrivals at any time.
    Rate(Rate),
    /// Users, who go as fast as the target does.
    Users,
}

/// Why a target is not loaded, and what to do so that it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Denied {
    /// No rule is about the target.
    #[error(
        "{target} is not on the allow-list; to load it, add the rule `{target}` (`--allow`, `--allow-file`)"
    )]
    Target {
        /// Host and port.
        target: String,
    },
    /// No rule is about the Unix socket.
    #[error(
        "the socket {socket} is not on the allow-list, and `any` is about hosts only; to load it, add the rule `unix:{socket}` \
         (`--allow`, `--allow-file`)"
    )]
    Unix {
        /// Its path.
        socket: String,
    },
    /// A name leads to an address that no rule is about.
    #[error(
        "{name} leads to {address}, which is not on the allow-list; to load it, add the rule `{name}` or `{address}` \
         (`--allow`, `--allow-file`)"
    )]
    Address {
        /// Name and port.
        name: String,
        /// Address and port.
        address: String,
    },
    /// Only the addresses of a name would tell, and nobody knows them.
    #[error(
        "{name} is not on the allow-list, and where it leads can't be told ({why}); to load it whatever its address, \
         add the rule `{name}` (`--allow`, `--allow-file`)"
    )]
    Unresolved {
        /// Name and port.
        name: String,
        /// What the resolver says.
        why: String,
    },
    /// The rate is above what the rules permit.
    #[error(
        "the load goes up to {rate}, and the allow-list bounds {target} to {most}; lower the rate, or raise the `max` of \
         its rule"
    )]
    Rate {
        /// Host and port.
        target: String,
        /// The highest rate of the load.
        rate: Rate,
        /// The most that any rule for the target permits.
        most: Rate,
    },
    /// The rules permit a rate, and the load has none.
    #[error(
        "the allow-list bounds the rate for {target}, to which users can't be held; write the load as a `rate`, or a rule \
         without `max`"
    )]
    Users {
        /// Host and port.
        target: String,
    },
    /// The address is link-local.
    #[error(
        "{address} is link-local, where services trust whoever reaches them; to load it nevertheless, add the rule \
         `{address}`, which names it (`--allow`, `--allow-file`)"
    )]
    LinkLocal {
        /// Address and port.
        address: String,
    },
    /// The address is where a cloud hands out credentials.
    #[error("{address} is the metadata service of a cloud, which is never loaded")]
    Metadata {
        /// The address.
        address: IpAddr,
    },
}

impl AllowList {
    /// Rules from lines: of a file, or one for each flag. Empty lines, and what stands behind a `#`, say nothing.
    ///
    /// # Errors
    /// All lines that are no rule.
    pub fn parse<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> Result<Self, Vec<RuleFault>> {
        let (mut rules, mut faults) = (Vec::new(), Vec::new());
        for (line, text) in (1..).zip(lines) {
            match Rule::read(text.as_ref()) {
                Ok(rule) => rules.extend(rule),
                Err(error) => faults.push(RuleFault::new(line, text.as_ref(), error)),
            }
        }
        if faults.is_empty() { Ok(Self { rules, burden: None }) } else { Err(faults) }
    }

    /// Whatever isn't refused always, Unix sockets among it.
    #[must_use]
    pub fn anything() -> Self {
        Self { rules: vec![Rule::any(), Rule::any_socket()], burden: None }
    }

    /// The machine that asks.
    #[must_use]
    pub fn loopback_only() -> Self {
        Self { rules: Rule::loopback().to_vec(), burden: None }
    }

    /// Whether there is no rule, so that nothing at all is allowed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether all of a plan's destinations may be loaded as hard as the plan says.
    ///
    /// # Errors
    /// As [`Self::permits`].
    pub fn permits_plan(&self, plan: &Plan) -> Result<(), Denied> {
        self.permits(plan, &plan.load)
    }

    /// Whether all of a plan's destinations may be loaded so hard: each as if it were the only one.
    ///
    /// # Errors
    /// [`Denied`] says what the rules lack.
    pub fn permits(&self, plan: &Plan, load: &Load) -> Result<(), Denied> {
        let list = self.for_load(load);
        list.permits_loaded(plan)
    }

    /// Whether all that a plan loads may be loaded. Ask it of the list that [`Self::for_load`] or [`Self::for_level`] gives.
    /// A target behind a proxy is resolved by that, so a rule must name it, or its address where it is written as one.
    ///
    /// # Errors
    /// As [`Self::permits`]; names that are connected to may need to be asked about, as with
    /// [`Self::permits_destination`].
    pub fn permits_loaded(&self, plan: &Plan) -> Result<(), Denied> {
        plan.loaded().iter().try_for_each(|destination| self.permits_destination(destination))?;
        match plan.behind_proxy() {
            Some(target) if self.needs_addresses(&target) => {
                Err(Denied::unresolved(&target, "the proxy resolves it"))
            }
            _ => Ok(()),
        }
    }

    /// Whether this may be connected to. Ask it of the list that [`Self::for_load`] or [`Self::for_level`] gives. A name that
    /// no rule names is let through where a rule for addresses may turn out to be about it: [`Self::needs_addresses`] says
    /// so, and [`Self::permits_address`] decides.
    ///
    /// # Errors
    /// As [`Self::permits`].
    pub fn permits_destination(&self, destination: &Destination) -> Result<(), Denied> {
        match destination {
            Destination::Remote(remote) => self.permits_remote(remote),
            Destination::Unix(path) => self.permits_unix(path),
        }
    }

    fn permits_remote(&self, remote: &Remote) -> Result<(), Denied> {
        let Remote { host, port, .. } = remote;
        if let Some(address) = remote.ip() {
            return self.permits_address(host, address, *port);
        }
        let target = remote.to_string();
        self.decide(&target, |rule| rule.has_port(*port) && (rule.names(host) || rule.is_network()))
            .unwrap_or(Err(Denied::Target { target }))
    }

    /// Whether a Unix socket may be connected to. Ask it of the list that [`Self::for_load`] or [`Self::for_level`] gives.
    ///
    /// # Errors
    /// As [`Self::permits`].
    pub fn permits_unix(&self, path: &Path) -> Result<(), Denied> {
        let socket = path.display().to_string();
        self.decide(&format!("unix:{socket}"), |rule| rule.holds_socket(path))
            .unwrap_or(Err(Denied::Unix { socket }))
    }

    /// Whether no rule that names the host permits it, so that each of its addresses has to be asked about.
    #[must_use]
    pub fn needs_addresses(&self, remote: &Remote) -> bool {
        let Remote { host, port, .. } = remote;
        let by_name = || self.decide(host, |rule| rule.has_port(*port) && rule.names(host));
        remote.ip().is_none() && !matches!(by_name(), Some(Ok(())))
    }

    /// The same rules for what is to be loaded so hard: those that bound the rate lower aren't enough then.
    #[must_use]
    pub fn for_load(&self, load: &Load) -> Self {
        self.bearing(match &load.model {
            Model::Open(open) => Burden::Rate(open.shape.rate_max()),
            Model::Closed(_) => Burden::Users,
        })
    }

    /// The same rules for a load that is brought to this level.
    #[must_use]
    pub fn for_level(&self, level: Level) -> Self {
        self.bearing(match level {
            Level::Rate(rate) => Burden::Rate(rate),
            Level::Users(_) => Burden::Users,
        })
    }

    fn bearing(&self, burden: Burden) -> Self {
        Self { rules: self.rules.clone(), burden: Some(burden) }
    }

    /// Whether `address` and `port`, to which `host` led, may be connected to. Ask it of the list that
    /// [`Self::for_load`] or [`Self::for_level`] gives, and connect to this very address.
    ///
    /// # Errors
    /// [`Denied`] says what the rules lack.
    pub fn permits_address(&self, host: &str, address: IpAddr, port: u16) -> Result<(), Denied> {
        // An IPv4 address may come in the clothes of an IPv6 one.
        let address = address.to_canonical();
        let target = written(address, port);
        if METADATA.contains(&address) {
            return Err(Denied::Metadata { address });
        }
        if is_link_local(address) {
            return self
                .decide(&target, |rule| rule.has_port(port) && rule.is_only(address))
                .unwrap_or(Err(Denied::LinkLocal { address: target }));
        }
        let is_about = |rule: &Rule| rule.has_port(port) && (rule.names(host) || rule.holds(address));
        let decided = self.decide(&target, is_about);
        decided.unwrap_or_else(|| {
            Err(match host.parse::<IpAddr>() {
                Ok(_) => Denied::Target { target },
                Err(_) => Denied::Address { name: written(host, port), address: target },
            })
        })
    }

    /// What the rules that are about the target say of the load; `None` where there are none.
    fn decide(&self, target: &str, is_about: impl Fn(&Rule) -> bool) -> Option<Result<(), Denied>> {
        let mut rules = self.rules.iter().filter(|rule| is_about(rule)).peekable();
        rules.peek()?;
        let mut most = Rate::ZERO;
        for rule in rules {
            match rule.most() {
                Some(bound) => most = most.max(bound),
                None => return Some(Ok(())),
            }
        }
        let target = target.to_owned();
        Some(match self.burden {
            Some(Burden::Rate(rate)) if rate > most => Err(Denied::Rate { target, rate, most }),
            Some(Burden::Users) => Err(Denied::Users { target }),
            Some(Burden::Rate(_)) | None => Ok(()),
        })
    }
}

impl Denied {
    /// The addresses of a destination's name can't be found out, and are needed.
    #[must_use]
    pub fn unresolved(destination: impl Display, why: impl Display) -> Self {
        Self::Unresolved { name: destination.to_string(), why: why.to_string() }
    }
}

fn is_link_local(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

/// A host and its port as rules write them.
fn written(host: impl Display, port: u16) -> String {
    let host = host.to_string();
    if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}

#[cfg(test)]
mod tests;
