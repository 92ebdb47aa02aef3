//! What may be listened on.

use tokio::net::TcpListener;

use super::*;
use crate::testing::coordinator;

#[tokio::test]
async fn case_18_a_listener_open_to_others_is_not_served() {
    let local = || TcpListener::bind("127.0.0.1:0");
    let open = TcpListener::bind("0.0.0.0:0").await.unwrap();
    let refused = serve(coordinator(), open, local().await.unwrap(), std::future::pending()).await;
    assert!(matches!(refused, Err(ServeError::Bind(_))), "{refused:?}");
}
