//! Drainage, depressions, outlets and river networks.

pub mod breach;
pub mod drainage;
pub mod flood;
pub mod network;

/// Drainage area from which on a cell counts as a channel, in cells.
pub const CHANNEL: f64 = 100.0;
/// Heavy rain of 10 mm in an hour, in metres per second. The discharge of droplets is stated as the area on which it gives their water.
pub const HEAVY_RAIN: f64 = 10.0 / 1000.0 / 3600.0;
