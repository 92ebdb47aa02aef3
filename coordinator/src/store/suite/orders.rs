//! Orders, and where the decider stood when it gave them.

use volley_plan::link::{Incarnation, Order};

use super::{Home, document, finish, standing};
use crate::store::{Left, MAX_ORDERS, SavedOrder, Store};

fn order(agent: u64, number: u64, order: Order) -> SavedOrder {
    SavedOrder { agent: Incarnation(agent), number, order }
}

pub(super) async fn orders_come_back(home: &impl Home) {
    let store = home.open();
    let run = document("r");
    store.create(&run).await.unwrap();
    let orders = [
        order(1, 1, Order::Grant { from: 0, to: 10, last: false }),
        order(1, 2, Order::Start { at_ns: 5, from_ns: 0, lease_until_ns: 6 }),
        order(u64::MAX, 1, Order::Release),
    ];
    let standing = standing(&run.id, &[1]);
    for given in [&orders[2..], &orders[..2], &orders[1..2]] {
        store.save_orders(&run.id, standing.clone(), given).await.unwrap();
    }
    assert_eq!(store.orders(&run.id).await.unwrap(), orders);
    finish(&*store, &run).await;
    drop(store);
    assert_eq!(home.open().orders(&run.id).await.unwrap(), orders);
}

pub(super) async fn old_orders_make_room(home: &impl Home) {
    let store = home.open();
    let run = document("r");
    store.create(&run).await.unwrap();
    let standing = standing(&run.id, &[1]);
    for number in 1..=MAX_ORDERS as u64 + 10 {
        let grant = order(1, number, Order::Grant { from: number, to: number + 1, last: false });
        store.save_orders(&run.id, standing.clone(), &[grant]).await.unwrap();
    }
    let orders = store.orders(&run.id).await.unwrap();
    let numbers: Vec<_> = orders.iter().map(|order| order.number).collect();
    assert_eq!((numbers.len(), numbers[0], numbers[1], numbers[99]), (MAX_ORDERS, 1, 12, 110));
}

pub(super) async fn orders_come_with_where_the_decider_stood(home: &impl Home) {
    let run = document("r");
    let store = home.open();
    store.create(&run).await.unwrap();
    let left = async |store: &dyn Store| store.unfinished().await.unwrap().remove(0).left;
    assert_eq!(left(&*store).await, Left::NotBegun);
    // What is told of one agent leaves what is known of the others alone.
    let first = standing(&run.id, &[1, 2, u64::MAX]);
    store.save_orders(&run.id, first.clone(), &[order(1, 1, Order::Release)]).await.unwrap();
    let mut later = standing(&run.id, &[2, 3]);
    later.agents.truncate(1);
    store.save_orders(&run.id, later.clone(), &[order(2, 1, Order::Release)]).await.unwrap();
    let of = |standing: &crate::store::Standing, place: usize| {
        (standing.agents[place].clone(), Default::default())
    };
    let agents = vec![of(&first, 0), of(&later, 0), of(&first, 2)];
    let expected = Left::Begun { run: later.run, agents };
    assert_eq!(left(&*store).await, expected);
    drop(store);
    let store = home.open();
    assert_eq!(left(&*store).await, expected);
    finish(&*store, &run).await;
    assert_eq!(store.unfinished().await.unwrap(), []);
}
