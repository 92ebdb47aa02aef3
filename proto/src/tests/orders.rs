//! What a coordinator says: what is wrong with a broken message is named by its field.

use volley_plan::link::{ArrivalShare, Order, RunId, Share, ToAgent, UserShare};
use volley_plan::shape::Stripes;
use volley_plan::{MAX_IN_FLIGHT, MAX_USERS};

use super::there_and_back_coordinator;
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
    check(order(1, Some(O::Prepare(prepare(None)))), "Share.share");
    let share = Some(v1::share::Share::Users(some_users()));
    let long = v1::Prepare { plan: "x".repeat((1 << 20) + 1), ..prepare(share) };
    check(order(1, Some(O::Prepare(long))), "Prepare.plan");
    let lease = Some(v1::Lease { run: String::new(), until_ns: 1 });
    check(Some(M::Pong(v1::Pong { lease, ..v1::Pong::default() })), "Lease.run");
    check(Some(M::Acknowledge(v1::Acknowledge::default())), "Acknowledge.run");
}

fn prepare(share: Option<v1::share::Share>) -> v1::Prepare {
    v1::Prepare { share: Some(v1::Share { share }), ..v1::Prepare::default() }
}

fn some_users() -> v1::UserShare {
    UserShare { users: 3, first_user: 1, every: 4 }.into()
}

fn some_arrivals() -> v1::ArrivalShare {
    let stripes = Stripes::default().all().dealt(1, 3);
    ArrivalShare { stripes, max_in_flight: 100, connections: Some(10) }.into()
}

/// Breaks a good share and says what must be found wrong with it.
fn check_share(share: v1::share::Share, field: &str) {
    let error = Share::try_from(v1::Share { share: Some(share) }).expect_err(field).to_string();
    assert!(error.starts_with(field), "{error} should begin with {field}");
}

#[test]
fn broken_shares_of_users_are_refused_by_field() {
    let check = |break_it: fn(&mut v1::UserShare), field: &str| {
        let mut share = some_users();
        break_it(&mut share);
        check_share(v1::share::Share::Users(share), field);
    };
    check(|share| share.users = MAX_USERS + 1, "UserShare.users");
    check(|share| share.every = 0, "UserShare.every");
    check(|share| share.every = u32::MAX, "UserShare's last user");
    check(|share| share.first_user = u32::MAX - 7, "UserShare's last user is 4294967296");
}

#[test]
fn broken_shares_of_arrivals_are_refused_by_field() {
    let check = |break_it: fn(&mut v1::ArrivalShare), field: &str| {
        let mut share = some_arrivals();
        break_it(&mut share);
        check_share(v1::share::Share::Arrivals(share), field);
    };
    check(|share| share.stripes = 0, "ArrivalShare.stripes is 0, allowed is 1 to 65536");
    check(|share| share.stripes = 65_537, "ArrivalShare.stripes");
    check(|share| share.stripes = 2_518, "ArrivalShare.held is 2518, allowed is 0 to 2517");
    check(|share| share.held.push(2_518), "ArrivalShare.held is repeated");
    check(|share| share.held.reverse(), "ArrivalShare.held is repeated or out of order");
    check(|share| share.held = vec![u32::MAX], "ArrivalShare.held");
    check(|share| share.max_in_flight = 0, "ArrivalShare.max_in_flight");
    check(|share| share.max_in_flight = MAX_IN_FLIGHT + 1, "ArrivalShare.max_in_flight");
    check(|share| share.connections = Some(0), "ArrivalShare.connections");
    check(|share| share.connections = Some(MAX_IN_FLIGHT + 1), "ArrivalShare.connections");
}

/// A share that is sent must come back.
fn check_comes_back(share: Share) {
    let order = Order::Prepare { plan: String::new(), hash: String::new(), share, seed: u64::MAX };
    let run = RunId::new("r").expect("a run's name");
    let message = ToAgent::Order { run, number: u64::MAX, order };
    assert_eq!(there_and_back_coordinator(message.clone()), Ok(message));
}

#[test]
fn shares_up_to_their_bounds_are_taken() {
    let users =
        |users, first_user, every| check_comes_back(Share::Users(UserShare { users, first_user, every }));
    users(1, u32::MAX, u32::MAX);
    users(0, 0, 1);
    users(MAX_USERS, 0, 42_949);
    let all = Stripes::new(65_536).expect("as many as there may be").all();
    for stripes in [all.dealt(0, 1), all.dealt(65_535, 65_536), all.dealt(1, 1)] {
        let most = ArrivalShare { stripes, max_in_flight: MAX_IN_FLIGHT, connections: Some(MAX_IN_FLIGHT) };
        check_comes_back(Share::Arrivals(most.clone()));
        check_comes_back(Share::Arrivals(ArrivalShare { connections: None, max_in_flight: 1, ..most }));
    }
}
