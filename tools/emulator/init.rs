//! The only program of the emulated machine: runs the test with the arguments of `/arguments`, tells its status, and ends the emulation.
//!
//! Built by `run.sh` with rustc alone. Bochs ends when "Shutdown" is written to port 0x8900.

use std::{arch::asm, ffi::c_int, process::Command, thread::sleep, time::Duration};

unsafe extern "C" {
    fn iopl(level: c_int) -> c_int;
}

fn main() {
    let found = [
        ("avx512f", is_x86_feature_detected!("avx512f")),
        ("avx512vnni", is_x86_feature_detected!("avx512vnni")),
        ("avx512bf16", is_x86_feature_detected!("avx512bf16")),
        ("avx512fp16", is_x86_feature_detected!("avx512fp16")),
    ];
    println!("processor: {}", found.map(|(name, has)| format!("{name} {has}")).join(", "));
    let arguments = std::fs::read_to_string("/arguments").unwrap_or_default();
    println!("status: {:?}", Command::new("/test").args(arguments.lines()).status());
    // The serial port is slow.
    sleep(Duration::from_millis(100));
    // SAFETY: the port is Bochs's own.
    unsafe {
        iopl(3);
        for byte in b"Shutdown" {
            asm!("out dx, al", in("dx") 0x8900_u16, in("al") *byte);
        }
    }
}
