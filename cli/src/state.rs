//! The folder in which a service keeps what shall outlive it.

use std::ffi::OsString;
use std::path::PathBuf;

/// The folder where none was named: what systemd gives a service, else what the XDG base directory specification says of
/// state. A relative folder is not taken, as that specification wants it.
pub(crate) fn folder() -> Option<PathBuf> {
    folder_by(|name| std::env::var_os(name))
}

fn folder_by(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    // Where a service has several, they are separated by colons (systemd.exec, RuntimeDirectory=).
    let first = |text: OsString| text.to_str().and_then(|text| text.split(':').next().map(PathBuf::from));
    let state_directory = variable("STATE_DIRECTORY").and_then(first).filter(|folder| folder.is_absolute());
    state_directory
        .or_else(|| folder("XDG_STATE_HOME").map(|state| state.join("volley")))
        .or_else(|| folder("HOME").map(|home| home.join(".local/state/volley")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The folder with these variables set.
    fn check(variables: &[(&str, &str)], expected: Option<&str>) {
        let variable = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(*value))
        };
        assert_eq!(folder_by(variable), expected.map(PathBuf::from), "{variables:?}");
    }

    #[test]
    fn state_has_its_place() {
        let home = ("HOME", "/home/u");
        let state = ("XDG_STATE_HOME", "/state");
        check(&[home], Some("/home/u/.local/state/volley"));
        check(&[home, state], Some("/state/volley"));
        check(&[home, state, ("STATE_DIRECTORY", "/var/lib/v")], Some("/var/lib/v"));
        check(&[("STATE_DIRECTORY", "/var/lib/v:/var/lib/w")], Some("/var/lib/v"));
        check(
            &[home, ("XDG_STATE_HOME", "state"), ("STATE_DIRECTORY", "")],
            Some("/home/u/.local/state/volley"),
        );
        check(&[("HOME", "")], None);
        check(&[], None);
    }
}
