// Binary search: whether to go left or right is as good as random.
#[inline(never)]
fn count_below(values: &[u32], limit: u32) -> u32 {
    let mut count = 0u32;
    for &value in values {
        if std::hint::black_box(value) < limit { // PLANTED
            count = std::hint::black_box(count + 1);
        }
    }
    count
}

fn main() {
    let mut state = 88172645463325252u64;
    let values: Vec<u32> = (0..50000)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u32
        })
        .collect();
    let mut sum = 0;
    for _ in 0..2000 {
        sum += count_below(&values, 1 << 31);
    }
    std::process::exit((sum == 1) as i32);
}
