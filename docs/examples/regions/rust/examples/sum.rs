use tmaprobe_region::Region;

fn main() {
    let mut all = 0u64;
    for round in 0..100 {
        let mut region = Region::new("sum");
        for i in 0..200_000u64 {
            all = std::hint::black_box(all.wrapping_mul(31) ^ (i + round));
        }
        region.count(200_000, 0);
    }
    println!("{all}");
}
