//! tmp
fn main() {
    let (mut p, mut f) = (0, 0);
    for file in std::env::args().skip(1) {
        for line in std::fs::read_to_string(&file).unwrap().lines() {
            let g: prestep::sim::conform::Golden = match serde_json::from_str(line) {
                Ok(g) => g,
                Err(e) => {
                    println!("BAD {e} {}", &line[..60]);
                    f += 1;
                    continue;
                }
            };
            match g.compare() {
                Ok(None) => p += 1,
                Ok(Some(d)) => {
                    f += 1;
                    println!(
                        "{}: {:?} #{}\n   want {}\n   got  {}",
                        g.name,
                        d.action,
                        d.place,
                        d.expected.map_or("-".into(), |v| v.to_string()),
                        d.observed.map_or("-".into(), |v| v.to_string())
                    );
                }
                Err(e) => {
                    f += 1;
                    println!("{}: {e}", g.name);
                }
            }
        }
    }
    println!("{p} passed, {f} failed");
}
