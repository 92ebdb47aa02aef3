//! Where a server is and where its visitors come from: IPv4, IPv6, zones, names, Unix sockets, several addresses.

use volley_e2e::zoo::{Animal, Habitat, animal, answers};

use super::HELLO;

/// Tells 421 to whom names another host.
fn host(name: &'static str, host: &'static str) -> Animal {
    animal(name, move |talk| {
        while let Some(request) = talk.request()? {
            let host = host.replace("{port}", &talk.port().to_string());
            let is_right = request.header("host") == Some(&host);
            talk.send(if is_right { HELLO } else { "HTTP/1.1 421 -\r\nContent-Length: 0\r\n\r\n" })?;
        }
        Ok(())
    })
}

pub(super) fn animals() -> Vec<Animal> {
    [literals(), names(), elsewhere(), several()].concat()
}

fn literals() -> Vec<Animal> {
    vec![
        host("IPv4", "127.0.0.1:{port}"),
        host("IPv6", "[::1]:{port}").living(Habitat::Tcp("::1")).at("http://[::1]:{port}/"),
        host("IPv6 in its long form", "[::1]:{port}")
            .living(Habitat::Tcp("::1"))
            .at("http://[0:0:0:0:0:0:0:1]:{port}/")
            .without_curl("curl writes the address into Host as it was given"),
        host("IPv6 with a zone", "[::1]:{port}").living(Habitat::Tcp("::1")).at("http://[::1%25lo]:{port}/"),
        host("IPv6 with a zone as people write it", "[::1]:{port}")
            .living(Habitat::Tcp("::1"))
            .at("http://[::1%lo]:{port}/"),
        host("IPv6 with the number of a zone", "[::1]:{port}")
            .living(Habitat::Tcp("::1"))
            .at("http://[::1%251]:{port}/"),
    ]
}

fn names() -> Vec<Animal> {
    let localhost =
        |name, ip| host(name, "localhost:{port}").living(Habitat::Tcp(ip)).at("http://localhost:{port}/");
    vec![
        localhost("a name", "127.0.0.1").with("connect: { family: 4 }", &["-4"]),
        localhost("a name that is resolved for each connection", "127.0.0.1")
            .with("connect: { family: 4, resolve: connection }\nkeep_alive: false", &["-4"])
            .one_connection_each()
            .without_curl("curl keeps the connection, and the name for a minute"),
        localhost("a name that is resolved now and then", "127.0.0.1")
            .with("connect: { family: 4, resolve: 1s }\nkeep_alive: false", &["-4"])
            .one_connection_each()
            .without_curl("curl keeps the connection, and the name for a minute"),
    ]
}

fn elsewhere() -> Vec<Animal> {
    vec![
        host("a Unix socket", "shop.test")
            .living(Habitat::Unix)
            .at("http://shop.test/")
            .with("connect: { unix: \"{socket}\" }", &["--unix-socket", "{socket}"]),
        host("another address than the host's", "shop.test:{port}").at("http://shop.test:{port}/").with(
            "connect: { to: [\"127.0.0.1:{port}\"] }",
            &["--connect-to", "shop.test:{port}:127.0.0.1:{port}"],
        ),
        host("another host than the address's", "other.test")
            .with("host: other.test", &["-H", "Host: other.test"]),
        host("an address of IPv6 in place of a name", "shop.test:{port}")
            .living(Habitat::Tcp("::1"))
            .at("http://shop.test:{port}/")
            .with(
                "connect: { to: [\"[::1]:{port}\"], family: 6 }",
                &["-6", "--connect-to", "shop.test:{port}:[::1]:{port}"],
            ),
        animal("a visitor's own address", |talk| {
            while talk.request()?.is_some() {
                let is_right = talk.peer().is_some_and(|peer| peer.ip().to_string() == "127.0.0.5");
                talk.send(if is_right { HELLO } else { "HTTP/1.1 403 -\r\nContent-Length: 0\r\n\r\n" })?;
            }
            Ok(())
        })
        .with("connect: { from: [127.0.0.5] }", &["--interface", "127.0.0.5"]),
    ]
}

fn several() -> Vec<Animal> {
    vec![
        answers("two addresses in turn", HELLO)
            .living(Habitat::Tcp("0.0.0.0"))
            .with("connect: { to: [\"127.0.0.1:{port}\", \"127.0.0.2:{port}\"] }\nkeep_alive: false", &[])
            .asked(4)
            .one_connection_each()
            .without_curl("curl goes to the first address that takes it"),
        answers("two addresses, at one of which nobody listens", HELLO)
            .with("connect: { to: [\"127.0.0.2:{port}\", \"127.0.0.1:{port}\"] }\nkeep_alive: false", &[])
            .asked(4)
            .one_connection_each()
            .without_curl("curl can be told one other address for a host"),
    ]
}
