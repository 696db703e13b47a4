//! Measures of a simulation by name, as columns of tables.

/// Measures: name of the column with its unit, and JSON pointer into the report.
pub(super) const MEASURES: [(&str, &str); 17] = [
    ("ticks", "/ticks"),
    ("simulated_seconds", "/simulated_seconds"),
    ("simulated_years", "/simulated_years"),
    ("height_min_m", "/statistics/min_m"),
    ("height_max_m", "/statistics/max_m"),
    ("height_mean_m", "/statistics/mean_m"),
    ("height_deviation_m", "/statistics/deviation_m"),
    ("slope_mean_deg", "/statistics/slope_deg"),
    ("pits", "/statistics/pits"),
    ("sandy_share", "/statistics/sandy"),
    ("cut_m3", "/statistics/cut_m3"),
    ("fill_m3", "/statistics/fill_m3"),
    ("solid_moved_m3", "/ledger/solid/moved"),
    ("solid_outflow_m3", "/ledger/solid/outflow"),
    ("solid_residual_m3", "/ledger/solid/residual"),
    ("water_end_m3", "/ledger/water/end"),
    ("water_outflow_m3", "/ledger/water/outflow"),
];

/// Wall-clock time, which differs between repeated runs.
pub(super) const WALL: (&str, &str) = ("wall_seconds", "/wall_seconds");

/// Returns `true` for the column of a time.
pub(super) fn is_time(column: &str) -> bool {
    column == "ticks" || column.ends_with("_seconds") || column.ends_with("_years")
}
