//! The kustomize base.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use super::commands::Line;
use super::stage::Stage;
use super::yaml::{document, documents, list, scalar};
use super::{image, path, text};

const FOLDER: &str = "deploy/kubernetes";

/// Everything that the base is made of.
fn resources() -> Vec<Value> {
    let base = document(&format!("{FOLDER}/kustomization.yaml"));
    assert_eq!(scalar(&base["kind"]), "Kustomization");
    list(&base["resources"]).iter().flat_map(|name| documents(&format!("{FOLDER}/{name}"))).collect()
}

fn of_kind(kind: &str) -> Vec<Value> {
    resources().into_iter().filter(|resource| scalar(&resource["kind"]) == kind).collect()
}

/// A deployment with its only container and what that starts.
struct Deployment {
    name: String,
    pod: Value,
    labels: Value,
    container: Value,
    line: Line,
}

fn deployments() -> Vec<Deployment> {
    let of = |resource: Value| {
        let name = scalar(&resource["metadata"]["name"]);
        let template = &resource["spec"]["template"];
        assert_eq!(resource["spec"]["selector"]["matchLabels"], template["metadata"]["labels"], "{name}");
        let (pod, labels) = (template["spec"].clone(), template["metadata"]["labels"].clone());
        let container = pod["containers"][0].clone();
        let line = Line::read(&name, &list(&container["args"]));
        Deployment { name, pod, labels, container, line }
    };
    of_kind("Deployment").into_iter().map(of).collect()
}

fn deployment(name: &str) -> Deployment {
    deployments().into_iter().find(|known| known.name == name).unwrap_or_else(|| panic!("no {name}"))
}

impl Deployment {
    /// Its ports by their names.
    fn ports(&self) -> BTreeMap<String, u64> {
        let ports = self.container["ports"].as_array().expect("ports").iter();
        ports.map(|port| (scalar(&port["name"]), port["containerPort"].as_u64().expect("a port"))).collect()
    }

    /// The paths that its probes ask for, at its port for HTTP.
    fn probes(&self) -> Vec<String> {
        let kinds =
            ["startupProbe", "livenessProbe", "readinessProbe"].map(|kind| &self.container[kind]["httpGet"]);
        let probes = kinds.into_iter().filter(|probe| !probe.is_null()).map(|probe| {
            assert_eq!(scalar(&probe["port"]), "http", "{}", self.name);
            scalar(&probe["path"])
        });
        probes.collect()
    }

    /// The volume that a file of the container lies in, and its name there.
    fn volume_of(&self, file: &str) -> (Value, String) {
        let mounts = self.container["volumeMounts"].as_array().expect("mounts");
        let found = mounts.iter().find_map(|mount| {
            let rest = file.strip_prefix(&scalar(&mount["mountPath"]))?;
            (rest.is_empty() || rest.starts_with('/')).then(|| (mount["name"].clone(), rest.to_owned()))
        });
        let (name, rest) =
            found.unwrap_or_else(|| panic!("{}: nothing is mounted where {file} is", self.name));
        let volumes = self.pod["volumes"].as_array().expect("volumes");
        let volume = volumes.iter().find(|volume| volume["name"] == name).expect("a mount has its volume");
        (volume.clone(), rest.trim_start_matches('/').to_owned())
    }
}

#[test]
fn ports_and_names_lead_to_each_other() {
    let (coordinator, agent) = (deployment("volley-coordinator"), deployment("volley-agent"));
    for (deployment, flag, name) in
        [(&coordinator, "--http", "http"), (&coordinator, "--agents", "agents"), (&agent, "--http", "http")]
    {
        let port = deployment.line.port(flag);
        assert_eq!(deployment.ports().get(name), Some(&u64::from(port)), "{}: {flag}", deployment.name);
        assert!(image::ports().contains(&port), "the image tells of {port}");
    }
    let services = of_kind("Service");
    for service in &services {
        let selector = service["spec"]["selector"].as_object().expect("a selector");
        assert!(selector.iter().all(|(name, value)| coordinator.labels[name] == *value), "{service}");
        let port = &service["spec"]["ports"][0];
        assert_eq!(
            coordinator.ports().get(&scalar(&port["targetPort"])),
            port["port"].as_u64().as_ref(),
            "{service}"
        );
    }
    let dialled = agent.line.value("--coordinator").to_owned();
    let agents = services.iter().map(|service| {
        format!("{}:{}", scalar(&service["metadata"]["name"]), service["spec"]["ports"][0]["port"])
    });
    assert!(agents.collect::<Vec<_>>().contains(&dialled), "{dialled}");
}

#[test]
fn files_are_mounted_where_they_are_looked_for() {
    let base = document(&format!("{FOLDER}/kustomization.yaml"));
    let map = &base["configMapGenerator"][0];
    let files = list(&map["files"]);
    assert!(files.iter().all(|file| path(FOLDER).join(file).exists()), "{files:?}");
    for deployment in deployments() {
        let (token, key) = deployment.volume_of(deployment.line.value("--token-file"));
        let secret = scalar(&token["secret"]["secretName"]);
        let made = format!("create secret generic {secret} --from-file={key}=");
        assert!(text(&format!("{FOLDER}/kustomization.yaml")).contains(&made), "nobody is told to `{made}`");
        let (targets, key) = deployment.volume_of(deployment.line.value("--allow-file"));
        assert_eq!(targets["configMap"]["name"], map["name"]);
        assert!(files.contains(&key), "{key}");
    }
    let (store, _) =
        deployment("volley-coordinator").volume_of(deployment("volley-coordinator").line.value("--store"));
    let claims = of_kind("PersistentVolumeClaim");
    assert_eq!(store["persistentVolumeClaim"]["claimName"], claims[0]["metadata"]["name"]);
    let agent = deployment("volley-agent");
    assert!(agent.volume_of(agent.line.value("--state")).0["emptyDir"].is_object());
}

#[test]
fn pods_are_restricted_and_have_what_they_ask_for() {
    for Deployment { name, pod, container, .. } in deployments() {
        let user = &pod["securityContext"];
        assert_eq!(
            (&user["runAsNonRoot"], &user["seccompProfile"]["type"]),
            (&true.into(), &"RuntimeDefault".into())
        );
        let security = &container["securityContext"];
        assert_eq!(security["allowPrivilegeEscalation"], false, "{name}");
        assert_eq!(security["readOnlyRootFilesystem"], true, "{name}");
        assert_eq!(list(&security["capabilities"]["drop"]), ["ALL"], "{name}");
        assert_eq!(container["resources"]["requests"], container["resources"]["limits"], "{name}");
        assert_eq!(pod["automountServiceAccountToken"], false, "{name}");
    }
    let (coordinator, agent) = (deployment("volley-coordinator"), deployment("volley-agent"));
    assert!(coordinator.pod["terminationGracePeriodSeconds"].as_u64() > Some(12 + 2));
    assert!(agent.pod["terminationGracePeriodSeconds"].as_u64() > Some(10 + 3 + 10));
    let spread = &agent.pod["topologySpreadConstraints"][0];
    assert_eq!(
        (scalar(&spread["topologyKey"]), &spread["labelSelector"]["matchLabels"]),
        ("kubernetes.io/hostname".to_owned(), &agent.labels)
    );
    let coordinators = of_kind("Deployment").remove(0);
    assert_eq!(
        (&coordinators["spec"]["replicas"], &coordinators["spec"]["strategy"]["type"]),
        (&1.into(), &"Recreate".into())
    );
}

/// How a coordinator of the base that has these rules takes a run on a service of the cluster.
fn taken(targets: PathBuf) -> (u16, String) {
    let mut stage = Stage::new(Some(targets));
    let coordinator = stage.start(&deployment("volley-coordinator").line, &[]);
    let plan = "target: http://a.b.svc.cluster.local/\nusers: 1\nrequests: 1\n";
    let answer = coordinator.api().post("/api/v1/runs", "application/yaml", plan);
    coordinator.ends();
    answer
}

#[test]
fn it_allows_nothing_until_somebody_says_what() {
    let (status, said) = taken(path(&format!("{FOLDER}/targets")));
    assert!(status == 403 && said.contains("a.b.svc.cluster.local"), "{status} {said}");
    // The rules that it has for examples are ones.
    let folder = tempfile::tempdir().expect("a folder");
    let targets = folder.path().join("targets");
    let examples: Vec<_> = text(&format!("{FOLDER}/targets"))
        .lines()
        .filter_map(|line| line.strip_prefix("#   ").map(str::to_owned))
        .collect();
    assert!(examples.len() > 2, "{examples:?}");
    fs::write(&targets, examples.join("\n")).expect("the rules can be written");
    let (status, said) = taken(targets);
    assert_ne!(status, 403, "{said}");
}

#[test]
fn its_pods_come_up_and_their_probes_answer() {
    let mut stage = Stage::new(None);
    let described = deployment("volley-coordinator");
    let coordinator = stage.start(&described.line, &[]);
    described.probes().iter().for_each(|probe| coordinator.answers(probe));
    let described = deployment("volley-agent");
    let agent = stage.start(&described.line, &[]);
    described.probes().iter().for_each(|probe| agent.answers(probe));
    coordinator.is_joined(Some("pod-1"));
    let agents = coordinator.api().agents();
    assert_eq!(agents[0]["labels"]["node"], "node-1", "{agents:?}");
    agent.ends();
    coordinator.ends();
}
