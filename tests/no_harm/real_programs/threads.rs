use std::process::Command;
use std::sync::{mpsc, Arc, Mutex};
use std::thread;

fn work(mut seed: u64) -> u64 {
    let mut kept = Vec::new();
    for i in 0..2_000_000u64 {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        if i % 16 == 0 {
            kept.push(seed);
        }
    }
    seed ^ kept.len() as u64
}

fn main() {
    let total = Arc::new(Mutex::new(0u64));
    let (sender, receiver) = mpsc::channel();
    let threads: Vec<_> = (0..8)
        .map(|i| {
            let (total, sender) = (Arc::clone(&total), sender.clone());
            thread::spawn(move || {
                let value = work(i);
                let mut sum = total.lock().unwrap();
                *sum = sum.wrapping_add(value);
                sender.send(i).unwrap();
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    drop(sender);
    let caught = std::panic::catch_unwind(|| {
        std::panic::set_hook(Box::new(|_| {}));
        panic!("expected")
    });
    let status = Command::new("sh").args(["-c", "exit 3"]).status().unwrap();
    println!("{} {} {} {:?}", total.lock().unwrap(), receiver.iter().sum::<u64>(), caught.is_err(), status.code());
}
