//! `bench` and `cpu`: the form of what they report.
//!
//! Keys, rows and what can be known beforehand are checked. How fast this machine is, or what processor it has, no test
//! asserts.

use crate::support::run;
use serde_json::{Value, json};

#[test]
fn bench_gives_a_line_a_combination() {
    let words = "bench -m builtin:tiny --batch 1,2 --size 28,28x42 --rounds 2 --threads 1 --isa portable";
    let rows: Vec<Value> =
        run(words, &[]).ok().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |row: &Value| (row["height"].as_u64(), row["width"].as_u64(), row["batch"].as_u64());
    let combinations: Vec<_> = rows.iter().map(of).collect();
    let expected = [(28, 28, 1), (28, 28, 2), (28, 42, 1), (28, 42, 2)];
    assert_eq!(combinations, expected.map(|(h, w, b)| (Some(h), Some(w), Some(b))));
    for row in &rows {
        let keys: Vec<&str> = row.as_object().unwrap().keys().map(String::as_str).collect();
        let mut wanted = [
            "model",
            "family",
            "dtype",
            "isa",
            "threads",
            "batch",
            "height",
            "width",
            "rounds",
            "ms_per_image",
            "images_per_s",
            "gflop_per_image",
            "gflops",
            "peak_rss_mb",
        ];
        wanted.sort_unstable();
        assert_eq!(keys, wanted);
        assert_eq!(
            (&row["isa"], &row["threads"], &row["rounds"]),
            (&json!("portable"), &json!(1), &json!(2))
        );
        let ms = |key: &str| row["ms_per_image"][key].as_f64().unwrap();
        assert!(ms("min") <= ms("median") && ms("median") <= ms("max"), "{row}");
    }
    #[cfg(target_os = "linux")]
    assert!(rows[0]["peak_rss_mb"].as_f64().unwrap() > 1.0);
}

#[test]
fn bench_takes_the_size_that_the_processor_gives() {
    let row: Value = serde_json::from_str(&run("bench -m builtin:tiny --rounds 1", &[]).ok()).unwrap();
    assert_eq!(
        (&row["height"], &row["width"], &row["gflop_per_image"]),
        (&json!(224), &json!(224), &json!(0.3645))
    );
}

/// They are the same for a file in f32, so asked for together they are one row.
#[test]
fn bench_runs_what_two_names_mean_once() {
    for dtype in ["auto", "f32", "auto,f32"] {
        let words = format!("bench -m builtin:tiny --size 28 --rounds 1 --dtype {dtype} --attn eager");
        let rows = run(&words, &[]).ok();
        assert_eq!(rows.lines().count(), 1, "{dtype}");
        assert!(rows.contains(r#""dtype":"f32""#), "{rows}");
    }
}

#[test]
fn bench_tells_where_the_time_goes_when_asked() {
    let words = "bench -m builtin:tiny --batch 2 --size 28 --rounds 2 --profile";
    let row: Value = serde_json::from_str(&run(&format!("{words} --json"), &[]).ok()).unwrap();
    let ops = row["profile"]["ops"].as_array().unwrap();
    let kinds: Vec<_> = ops.iter().map(|op| op["op"].as_str().unwrap()).collect();
    for kind in ["gemm", "attention", "layer norm", "patches", "resample"] {
        // The table's resize is remembered from the forward that is not timed.
        assert_eq!(kinds.contains(&kind), kind != "resample", "{kind} in {kinds:?}");
    }
    for op in ops {
        let (flops, bytes) = (op["gflops"].as_f64(), op["gb_per_s"].as_f64());
        assert!(flops.is_some() != bytes.is_some() && op["calls"].as_f64() >= Some(1.0), "{op}");
    }
    let shares: f64 = ops.iter().map(|op| op["share"].as_f64().unwrap()).sum();
    let all = shares + row["profile"]["rest_share"].as_f64().unwrap();
    assert!((all - 1.0).abs() < 0.01, "{all}");
    let table = run(words, &[]).ok();
    assert!(table.contains("GEMM and attention ") && table.contains("share of roof"), "{table}");
}

#[test]
fn bench_refuses_what_no_memory_holds() {
    let got = run("bench -m builtin:tiny --batch 1000000 --size 518", &[]);
    assert_eq!(got.code, Some(1));
    assert_eq!(got.stderr, "error: --batch: `1000000` pictures of 518x518 are more than 268435456 numbers\n");
}

#[test]
fn cpu_tells_levels_cores_and_roofs() {
    let report: Value =
        serde_json::from_str(&run("cpu --json --isa portable --threads 1", &[]).ok()).unwrap();
    assert_eq!((&report["isa"], &report["threads"]), (&json!("portable"), &json!(1)));
    assert_eq!(report["isa_found"][0], "portable");
    for key in
        ["cores", "fma_gflops", "fma_gflops_one_thread", "memory_gb_per_s", "memory_gb_per_s_one_thread"]
    {
        assert!(report[key].as_f64().unwrap() > 0.0, "{key}");
    }
    let table = run("cpu --threads 1", &[]).ok();
    let names: Vec<&str> = table.lines().map(|line| line[..15].trim_end()).collect();
    assert_eq!(names, ["ISA found", "ISA used", "cores", "threads used", "GEMM roof", "memory"]);
}
