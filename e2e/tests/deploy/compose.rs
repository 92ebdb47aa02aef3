//! The compose file.

use serde_json::Value;

use super::commands::{Line, port};
use super::stage::Stage;
use super::yaml::{document, list, scalar};
use super::{image, path};

const FILE: &str = "deploy/compose.yaml";

fn service(file: &Value, name: &str) -> (Value, Line) {
    let service = file["services"][name].clone();
    let line = Line::read(&format!("{FILE}, {name}"), &list(&service["command"]));
    (service, line)
}

/// The words of a health check behind the program's name.
fn check(service: &Value) -> Vec<String> {
    let words = list(&service["healthcheck"]["test"]);
    assert_eq!(words[..2], ["CMD", "volley"], "{words:?}");
    Line::read(FILE, &words[2..]);
    words[2..].to_vec()
}

#[test]
fn its_services_fit_each_other() {
    let file = document(FILE);
    let (coordinator, coordinator_line) = service(&file, "coordinator");
    let (agent, agent_line) = service(&file, "agent");
    let (_, target_line) = service(&file, "target");
    let (http, agents) = (coordinator_line.port("--http"), coordinator_line.port("--agents"));
    assert_eq!(agent_line.value("--coordinator"), format!("coordinator:{agents}"));
    assert_eq!(list(&coordinator["ports"]), [format!("127.0.0.1:{http}:{http}")]);
    for line in [&coordinator_line, &agent_line] {
        assert_eq!(line.value("--allow"), format!("target:{}", target_line.port("--listen")));
    }
    for (service, line) in [(&coordinator, &coordinator_line), (&agent, &agent_line)] {
        let words = check(service);
        let (_, rest) = words[1].split_once("://").expect("a URL");
        assert_eq!(port(rest.split('/').next().unwrap_or_default()), line.port("--http"), "{words:?}");
        let secret = list(&service["secrets"]).remove(0);
        assert_eq!(line.value("--token-file"), format!("/run/secrets/{secret}"));
        assert!(file["secrets"][&secret]["file"].is_string(), "{secret}");
        let volume = list(&service["volumes"]).remove(0);
        let (name, mounted) = volume.split_once(':').expect("a volume has its place");
        assert!(file["volumes"].get(name).is_some(), "{name}");
        assert_eq!(mounted, image::state_directory());
        let build = &service["build"];
        let recipe = path("deploy").join(scalar(&build["context"])).join(scalar(&build["dockerfile"]));
        assert!(recipe.exists(), "{}", recipe.display());
    }
    let known = image::ports();
    assert!([http, agents, agent_line.port("--http")].iter().all(|port| known.contains(port)), "{known:?}");
    assert_eq!(scalar(&agent["depends_on"]["coordinator"]["condition"]), "service_healthy");
    assert!(agent["deploy"]["replicas"].as_u64() >= Some(2));
}

#[test]
fn its_services_come_up_and_end_in_order() {
    let file = document(FILE);
    let mut stage = Stage::new(None);
    let (coordinator, line) = service(&file, "coordinator");
    let coordinator_check = check(&coordinator);
    let coordinator = stage.start(&line, &[]);
    coordinator.probed(&coordinator_check);
    let (agent, line) = service(&file, "agent");
    let agent_check = check(&agent);
    let agent = stage.start(&line, &[]);
    agent.probed(&agent_check);
    coordinator.is_joined(None);
    let (_, line) = service(&file, "target");
    let target = stage.start(&line, &[]);
    target.answers("/");
    agent.ends();
    coordinator.ends();
    target.ends();
}
