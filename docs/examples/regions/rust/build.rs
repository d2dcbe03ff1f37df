// Compiles the marks: TMAPROBE_INCLUDE names the folder that has tmaprobe/region.h.
use std::{env, process::Command};

fn main() {
    let out = env::var("OUT_DIR").unwrap();
    let include = env::var("TMAPROBE_INCLUDE").unwrap_or("/usr/include".into());
    let run = |program: &str, words: &[&str]| {
        assert!(Command::new(program).args(words).status().unwrap().success(), "{program} failed");
    };
    let object = format!("{out}/region.o");
    run(&env::var("CC").unwrap_or("cc".into()),
        &["-O2", "-fPIC", "-I", &include, "-c", "../region_library.c", "-o", &object]);
    run("ar", &["rcs", &format!("{out}/libtmaprobe_region.a"), &object]);
    println!("cargo:rustc-link-search=native={out}");
    println!("cargo:rustc-link-lib=static:+whole-archive=tmaprobe_region");
    println!("cargo:rerun-if-env-changed=TMAPROBE_INCLUDE");
}
