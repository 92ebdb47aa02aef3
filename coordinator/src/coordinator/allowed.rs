//! Whether a target may be loaded: the allow-list knows names and addresses, and here the one leads to the other.
//!
//! A name that no rule names is looked up, and each of its addresses is held against the rules. Agents look it up again,
//! each where it is, and hold what they find against lists of their own.

use std::future::Future;
use std::io;
use std::net::IpAddr;
use std::time::Duration;

use tokio::net::lookup_host;
use volley_plan::{AllowList, Denied, Target};

/// How long a name may take to be looked up.
const LOOK_UP_WITHIN: Duration = Duration::from_secs(5);

/// Whether a target may be loaded, by a list for that very load or level.
pub(super) async fn permits(list: &AllowList, target: &Target) -> Result<(), Denied> {
    permits_where(list, target, addresses(target)).await
}

/// The same with what gives the addresses, which is asked only where it matters.
async fn permits_where(
    list: &AllowList,
    target: &Target,
    addresses: impl Future<Output = io::Result<Vec<IpAddr>>>,
) -> Result<(), Denied> {
    list.permits_target(target)?;
    if !list.needs_addresses(target) {
        return Ok(());
    }
    let addresses = match tokio::time::timeout(LOOK_UP_WITHIN, addresses).await {
        Ok(found) => found.map_err(|error| Denied::unresolved(target, error))?,
        Err(_) => return Err(Denied::unresolved(target, "the name servers don't answer")),
    };
    if addresses.is_empty() {
        return Err(Denied::unresolved(target, "it has no address"));
    }
    addresses.into_iter().try_for_each(|address| list.permits_address(target.host(), address, target.port()))
}

async fn addresses(target: &Target) -> io::Result<Vec<IpAddr>> {
    let found = lookup_host((target.host(), target.port())).await?;
    Ok(found.map(|address| address.ip()).collect())
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    /// Whether `shop.test`, at these addresses, may be loaded with 100/s; or a part of why not.
    async fn check(list: &AllowList, addresses: &[&str], expected: Result<(), &str>) {
        let plan = volley_plan::parse("target: http://shop.test/\nrate: 100/s\nduration: 1s").unwrap();
        let found = addresses.iter().map(|text| text.parse().unwrap()).collect();
        let list = list.for_load(&plan.load);
        let said = permits_where(&list, &plan.target, ready(Ok(found))).await;
        match (said, expected) {
            (Err(denied), Err(part)) => assert!(denied.to_string().contains(part), "{denied}"),
            (said, expected) => assert_eq!(said, expected.map_err(|_| unreachable!()), "{addresses:?}"),
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

    #[tokio::test(start_paused = true)]
    async fn a_name_that_leads_nowhere_is_denied_where_that_matters() {
        let plan = volley_plan::parse("target: http://shop.test/\nusers: 1\nduration: 1s").unwrap();
        let list = AllowList::loopback_only().for_load(&plan.load);
        let broken = ready(Err(io::Error::other("no such host")));
        let denied = permits_where(&list, &plan.target, broken).await.unwrap_err().to_string();
        assert!(
            denied.contains("no such host") && denied.contains("add the rule `shop.test:80`"),
            "{denied}"
        );
        let denied = permits_where(&list, &plan.target, pending()).await.unwrap_err().to_string();
        assert!(denied.contains("don't answer"), "{denied}");
        let anything = AllowList::anything().for_load(&plan.load);
        assert_eq!(permits_where(&anything, &plan.target, pending()).await, Ok(()));
    }
}
