//! What a coordinator says: what is wrong with a broken message is named by its field.

use prost::Message;
use volley_plan::link::{Bounds, Order, RunId, Share, ToAgent};
use volley_plan::shape::{StripeSet, Stripes};
use volley_plan::{MAX_IN_FLIGHT, MAX_USERS};

use super::there_and_back_coordinator;
use crate::limits::MAX_ADJUSTED;
use crate::v1;

#[test]
fn broken_messages_of_a_coordinator_are_refused_by_field() {
    use v1::numbered_order::Order as O;
    use v1::to_agent::Message as M;
    let check = |message: Option<M>, field: &str| {
        let error = ToAgent::try_from(v1::ToAgent { message }).expect_err(field).to_string();
        assert!(error.starts_with(field), "{error} should begin with {field}");
    };
    let order = |number, order| Some(M::Order(v1::NumberedOrder { run: "r".to_owned(), number, order }));
    check(None, "ToAgent.message");
    check(order(0, Some(O::Release(v1::Release {}))), "NumberedOrder.number");
    check(order(1, None), "NumberedOrder.order");
    check(order(1, Some(O::Grant(v1::Grant { from: 2, to: 1, last: false }))), "Grant.from and Grant.to");
    check(order(1, Some(O::Prepare(v1::Prepare::default()))), "Prepare.share");
    let long = v1::Prepare { plan: "x".repeat((1 << 20) + 1), ..prepare() };
    check(order(1, Some(O::Prepare(long))), "Prepare.plan");
    check(order(1, Some(O::Change(v1::Change::default()))), "Change.share");
    let to = Some(v1::Level { level: None });
    check(
        order(1, Some(O::Change(v1::Change { share: Some(share()), to, ..v1::Change::default() }))),
        "Level.level",
    );
    let lease = Some(v1::Lease { run: String::new(), until_ns: 1 });
    check(Some(M::Pong(v1::Pong { lease, ..v1::Pong::default() })), "Lease.run");
    check(Some(M::Acknowledge(v1::Acknowledge::default())), "Acknowledge.run");
}

fn prepare() -> v1::Prepare {
    v1::Prepare { share: Some(share()), ..v1::Prepare::default() }
}

/// A third of the stripes.
fn share() -> v1::Share {
    let held = (1..2_520).step_by(3).collect();
    let bounds = Some(v1::Bounds { max_in_flight: 100, connections: Some(10) });
    v1::Share { stripes: 2_520, held, bounds }
}

#[test]
fn broken_shares_are_refused_by_field() {
    let check = |break_it: fn(&mut v1::Share), field: &str| {
        let mut broken = share();
        break_it(&mut broken);
        let error = Share::try_from(broken).expect_err(field).to_string();
        assert!(error.starts_with(field), "{error} should begin with {field}");
    };
    check(|share| share.stripes = 0, "Share.stripes is 0, allowed is 1 to 65536");
    check(|share| share.stripes = 65_537, "Share.stripes");
    check(|share| share.stripes = 2_517, "Share.held is 2518, allowed is 0 to 2516");
    check(|share| share.held.push(2_518), "Share.held is repeated");
    check(|share| share.held.reverse(), "Share.held is repeated or out of order");
    check(|share| share.held = vec![u32::MAX], "Share.held");
    let bounds = |max_in_flight, connections| Some(v1::Bounds { max_in_flight, connections });
    for max_in_flight in [0, MAX_IN_FLIGHT + 1] {
        let broken = v1::Share { bounds: bounds(max_in_flight, None), ..share() };
        assert!(
            Share::try_from(broken).is_err_and(|error| error.to_string().starts_with("Bounds.max_in_flight"))
        );
        let broken = v1::Share { bounds: bounds(1, Some(max_in_flight)), ..share() };
        assert!(
            Share::try_from(broken).is_err_and(|error| error.to_string().starts_with("Bounds.connections"))
        );
    }
}

/// An order with this share must come back.
fn check_comes_back(share: Share) {
    let order = Order::Change { at_ns: u64::MAX, share, to: None, over_ns: u64::MAX };
    let run = RunId::new("r").expect("a run's name");
    let message = ToAgent::Order { run, number: u64::MAX, order };
    assert_eq!(there_and_back_coordinator(message.clone()), Ok(message));
}

#[test]
fn shares_up_to_their_bounds_are_taken() {
    let stripes = Stripes::new(65_536).expect("as many as there may be");
    let some = |held| StripeSet::new(stripes, held).expect("each is below the count");
    let most = Bounds { max_in_flight: MAX_IN_FLIGHT, connections: Some(MAX_IN_FLIGHT) };
    let least = Bounds { max_in_flight: 1, connections: None };
    for stripes in [stripes.all(), some(vec![65_535]), some(vec![])] {
        for bounds in [None, Some(least), Some(most)] {
            check_comes_back(Share { stripes: stripes.clone(), bounds });
        }
    }
}

/// What must be found wrong with these levels, each at its time.
fn check_adjusted(adjusted: &[(u64, Option<v1::level::Level>)], field: &str) {
    let adjusted = adjusted.iter().map(|&(at_ns, level)| v1::Adjust { at_ns, to: Some(v1::Level { level }) });
    let adjusted = adjusted.flat_map(|adjust| adjust.encode_length_delimited_to_vec()).collect();
    let error = Order::try_from(v1::Prepare { adjusted, ..prepare() }).expect_err(field).to_string();
    assert!(error.starts_with(field), "{error} should begin with {field}");
}

#[test]
fn broken_levels_are_refused_by_field() {
    use v1::level::Level as L;
    let users = |users| Some(L::Users(users));
    check_adjusted(&[(1, None)], "Level.level");
    check_adjusted(&[(1, users(MAX_USERS + 1))], "Level.users is 100001, allowed is 0 to 100000");
    check_adjusted(
        &[(1, Some(L::RateMicroPerHour(u64::MAX)))],
        "Level.rate_micro_per_hour is 18446744073709551615",
    );
    check_adjusted(&[(2, users(1)), (1, users(1))], "Prepare.adjusted is repeated or out of order");
    check_adjusted(&[(1, users(1)); MAX_ADJUSTED + 1], "Prepare.adjusted has more than 1000 entries");
    let missing = v1::Prepare { adjusted: vec![0], ..prepare() };
    let error = Order::try_from(missing).expect_err("an empty message").to_string();
    assert!(error.starts_with("Adjust.to"), "{error}");
}
