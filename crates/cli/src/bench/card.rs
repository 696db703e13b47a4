//! Benchmark of the kernels on a graphics card.

use serde_json::Value;

use crate::Failure;

#[cfg(feature = "gpu")]
pub(super) fn measure(side: u32) -> Result<Value, Failure> {
    use crate::computer::{open_card, refused};
    use serde_json::json;
    use thalweg_gpu::{KernelTime, bench};
    use thalweg_sim::{
        generate::{TerrainParams, generate},
        params::set,
        simulation::Simulation,
    };

    let device = open_card()?;
    let params = TerrainParams { width: side, height: side, cell_size: 4.0, ..TerrainParams::default() };
    let terrain = generate(&params, 1);
    let rows = |mode: &str| -> Result<Vec<Value>, Failure> {
        let mut simulation = Simulation::new(terrain.clone(), 1);
        for slot in simulation.slots.iter_mut().filter(|slot| ["water", "thermal"].contains(&slot.key())) {
            slot.enabled = true;
        }
        for path in ["water.mode", "thermal.mode"] {
            set(&mut simulation.groups_mut(), path, mode).expect("both have this mode");
        }
        let times = bench(&device, &mut simulation).map_err(refused)?;
        let bandwidth = times.first().map_or(f64::NAN, |copy| copy.bytes / copy.ns);
        let row = |KernelTime { name, ns, bytes }: KernelTime| {
            json!({
                "kernel": name, "ns_per_cell": ns, "bytes_per_cell": bytes, "bandwidth_share": bytes / ns / bandwidth,
            })
        };
        Ok(times.into_iter().map(row).collect())
    };
    Ok(json!({
        "device": device.name(),
        "size": side,
        "default": rows("default")?,
        "published": rows("published")?,
    }))
}

#[cfg(not(feature = "gpu"))]
pub(super) fn measure(_: u32) -> Result<Value, Failure> {
    Err(crate::computer::without_graphics())
}

/// Formats the report as a table, one line per kernel.
pub(super) fn table(report: &Value) -> String {
    let mut text = format!(
        "{0} × {0} cells on {1}; medians, in nanoseconds per cell\n",
        report["size"],
        report["device"].as_str().unwrap_or_default(),
    );
    for mode in ["default", "published"] {
        text += &format!("{mode:18} {:>10} {:>10} {:>20}\n", "time", "bytes", "share of bandwidth");
        for row in report[mode].as_array().into_iter().flatten() {
            let figure = |key: &str| row[key].as_f64().unwrap_or(f64::NAN);
            text += &format!(
                "  {:16} {:10.3} {:10.0} {:18.0} %\n",
                row["kernel"].as_str().unwrap_or_default(),
                figure("ns_per_cell"),
                figure("bytes_per_cell"),
                100.0 * figure("bandwidth_share"),
            );
        }
    }
    text
}
