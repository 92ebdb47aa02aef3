//! Holds the committed Rust code to the .proto file. `VOLLEY_BLESS=1 cargo test -p volley-proto --test generated`
//! writes it anew; do that before you touch the conversions, since they must compile for it.

use std::fs;
use std::path::Path;

#[test]
fn generated_code_is_current() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let committed = here.join("src/gen/volley.v1.rs");
    let fresh = generate(&here.join("proto"));
    if std::env::var_os("VOLLEY_BLESS").is_some() {
        fs::write(&committed, &fresh).expect("the generated code can be written");
    }
    let kept = fs::read_to_string(&committed).expect("the generated code is committed");
    assert!(
        kept == fresh,
        "src/gen/volley.v1.rs is not what fleet.proto says; run this test with VOLLEY_BLESS=1"
    );
}

fn generate(proto: &Path) -> String {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("volley-proto-{}", std::process::id()));
    fs::create_dir_all(&out).expect("a directory for the generated code");
    let descriptors =
        protox::compile([proto.join("volley/v1/fleet.proto")], [proto]).expect("fleet.proto is valid");
    tonic_prost_build::configure()
        .out_dir(&out)
        .emit_rerun_if_changed(false)
        .compile_fds(descriptors)
        .expect("code for fleet.proto");
    let code = fs::read_to_string(out.join("volley.v1.rs")).expect("the code for package volley.v1");
    fs::remove_dir_all(&out).expect("the directory for the generated code goes");
    code
}
