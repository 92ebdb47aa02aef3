//! Whether a plan's destinations may be loaded: the allow-list knows names and addresses, and here the one leads to the
//! other.
//!
//! A name that no rule names is looked up, and each of its addresses is held against the rules. Agents look it up again,
//! each where it is, and hold what they find against lists of their own.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use futures_util::future::try_join_all;
use tokio::net::lookup_host;
use volley_plan::{AllowList, Denied, Destination, Family, Plan, Remote};

/// How long a name may take to be looked up.
const LOOK_UP_WITHIN: Duration = Duration::from_secs(5);

/// Why the coordinator lets something not be loaded. Agents have lists too, so it says whose.
pub(crate) fn forbids(denied: &Denied) -> String {
    format!("the coordinator's allow-list forbids it: {denied}")
}

/// Whether all of a plan's destinations may be loaded, by a list for that very load or level.
pub(super) async fn permits(list: &AllowList, plan: &Plan) -> Result<(), Denied> {
    permits_where(list, plan, addresses).await
}

/// The same with what gives the addresses of a name, which is asked only where it matters, and for all names at the same
/// time.
async fn permits_where<F>(
    list: &AllowList,
    plan: &Plan,
    addresses: impl Fn(Remote) -> F,
) -> Result<(), Denied>
where
    F: Future<Output = io::Result<Vec<IpAddr>>>,
{
    list.permits_loaded(plan)?;
    let destinations = plan.destinations();
    let unsure = destinations.iter().filter_map(|destination| match destination {
        Destination::Remote(remote) if list.needs_addresses(remote) => Some(remote),
        Destination::Remote(_) | Destination::Unix(_) => None,
    });
    let family = plan.http.connect.family;
    let asked = unsure.map(|remote| permits_name(list, remote, family, addresses(remote.clone())));
    try_join_all(asked).await.map(drop)
}

async fn permits_name(
    list: &AllowList,
    name: &Remote,
    family: Family,
    addresses: impl Future<Output = io::Result<Vec<IpAddr>>>,
) -> Result<(), Denied> {
    let addresses = match tokio::time::timeout(LOOK_UP_WITHIN, addresses).await {
        Ok(found) => found.map_err(|error| Denied::unresolved(name, error))?,
        Err(_) => return Err(Denied::unresolved(name, "the name servers don't answer")),
    };
    let mut used = addresses.into_iter().filter(|address| family.holds(*address)).peekable();
    if used.peek().is_none() {
        return Err(Denied::unresolved(name, "it has no address"));
    }
    used.try_for_each(|address| list.permits_address(&name.host, address, name.port))
}

async fn addresses(name: Remote) -> io::Result<Vec<IpAddr>> {
    let found = lookup_host((name.host.as_str(), name.port)).await?;
    Ok(found.map(|address| address.ip()).collect())
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    /// Whether `shop.test`, at these addresses, may be loaded with 100/s; or a part of why not.
    async fn check(list: &AllowList, addresses: &[&str], expected: Result<(), &str>) {
        let plan = volley_plan::parse("target: http://shop.test/\nrate: 100/s\nduration: 1s").unwrap();
        check_plan(list, &plan, |_| addresses.to_vec(), expected).await;
    }

    /// The same of a plan whose names lead to these addresses.
    async fn check_plan<'a>(
        list: &AllowList,
        plan: &Plan,
        addresses: impl Fn(&str) -> Vec<&'a str>,
        expected: Result<(), &str>,
    ) {
        let found = |name: Remote| {
            ready(Ok(addresses(&name.host).iter().map(|text| text.parse().unwrap()).collect()))
        };
        let said = permits_where(&list.for_load(&plan.load), plan, found).await;
        match (said, expected) {
            (Err(denied), Err(part)) => assert!(denied.to_string().contains(part), "{denied}"),
            (said, expected) => assert_eq!(said, expected.map_err(|_| unreachable!()), "{list:?}"),
        }
    }

    #[tokio::test]
    async fn a_name_is_bound_by_where_it_leads() {
        let loopback = AllowList::loopback_only();
        check(&loopback, &["127.0.0.1", "::1"], Ok(())).await;
        check(&loopback, &["127.0.0.1", "93.184.215.14"], Err("leads to 93.184.215.14:80, which is not"))
            .await;
        check(&loopback, &[], Err("it has no address")).await;
        let list = |rules: &[&str]| AllowList::parse(rules.iter().copied()).unwrap();
        check(&list(&["10.0.0.0/8 max 99/s", "192.168.0.0/16"]), &["192.168.0.1"], Ok(())).await;
        check(&list(&["10.0.0.0/8 max 99/s", "192.168.0.0/16"]), &["10.0.0.1"], Err("99/s")).await;
        check(&list(&["10.0.0.0/8:81"]), &["10.0.0.1"], Err("not on the allow-list")).await;
        // By its name, wherever it leads.
        check(&list(&["shop.test", "10.0.0.0/8"]), &["11.0.0.1"], Ok(())).await;
        check(&AllowList::anything(), &["11.0.0.1"], Ok(())).await;
    }

    #[tokio::test]
    async fn each_destination_is_asked_about_and_the_target_is_not() {
        let plan = |connect: &str| {
            let text = format!("target: http://10.9.9.9/\nrate: 1/s\nduration: 1s\nconnect: {connect}");
            volley_plan::parse(&text).unwrap()
        };
        let list = AllowList::parse(["10.0.0.0/24", "unix:/run/a"]).unwrap();
        let addresses = |name: &str| match name {
            "a.test" => vec!["10.0.0.1"],
            "b.test" => vec!["11.0.0.1"],
            _ => vec!["10.0.0.2", "fd00::2"],
        };
        let both = plan("{ to: [a.test:81, b.test:82] }");
        let denied = Err("b.test:82 leads to 11.0.0.1:82, which is not");
        check_plan(&list, &both, addresses, denied).await;
        check_plan(&list, &plan("{ to: [a.test:81, 10.0.0.7:82] }"), addresses, Ok(())).await;
        check_plan(&list, &plan("{ unix: /run/a }"), addresses, Ok(())).await;
        check_plan(&list, &plan("{ unix: /run/b }"), addresses, Err("the socket /run/b is not on")).await;
        // What is excluded is not connected to.
        check_plan(&list, &plan("{ to: [c.test:81] }"), addresses, Err("leads to [fd00::2]:81")).await;
        check_plan(&list, &plan("{ to: [c.test:81], family: 4 }"), addresses, Ok(())).await;
        let none = Err("it has no address");
        check_plan(&list, &plan("{ to: [a.test:81], family: 6 }"), addresses, none).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_name_that_leads_nowhere_is_denied_where_that_matters() {
        let plan = volley_plan::parse("target: http://shop.test/\nusers: 1\nduration: 1s").unwrap();
        let list = AllowList::loopback_only().for_load(&plan.load);
        let broken = |_| ready(Err(io::Error::other("no such host")));
        let denied = permits_where(&list, &plan, broken).await.unwrap_err().to_string();
        assert!(
            denied.contains("no such host") && denied.contains("add the rule `shop.test:80`"),
            "{denied}"
        );
        let denied = permits_where(&list, &plan, |_| pending()).await.unwrap_err().to_string();
        assert!(denied.contains("don't answer"), "{denied}");
        let anything = AllowList::anything().for_load(&plan.load);
        assert_eq!(permits_where(&anything, &plan, |_| pending()).await, Ok(()));
    }
}
