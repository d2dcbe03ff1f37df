//! A region lasts as long as its value:
//!
//!     let mut region = tmaprobe_region::Region::new("parse");
//!     region.count(lines, bytes);
//!
//! With Criterion: `let _region = Region::new("parse");` in the closure that is given to `bench_function`, before
//! `b.iter(...)`.
use std::ffi::{c_char, CString};

extern "C" {
    fn tmaprobe_begin(name: *const c_char);
    fn tmaprobe_end(name: *const c_char, iterations: u64, bytes: u64);
}

pub struct Region {
    name: CString,
    iterations: u64,
    bytes: u64,
}

impl Region {
    /// A name with a zero byte in it is cut there.
    pub fn new(name: &str) -> Self {
        let name = CString::new(name.split('\0').next().unwrap_or("")).unwrap_or_default();
        unsafe { tmaprobe_begin(name.as_ptr()) };
        Region { name, iterations: 0, bytes: 0 }
    }

    /// What it has done, for rates; adds up.
    pub fn count(&mut self, iterations: u64, bytes: u64) {
        self.iterations += iterations;
        self.bytes += bytes;
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        unsafe { tmaprobe_end(self.name.as_ptr(), self.iterations, self.bytes) };
    }
}
