//! Drainage, depressions, outlets and river networks.

pub mod breach;
pub mod drainage;
pub mod flood;
pub mod network;

/// Minimum drainage area of a channel, in cells.
pub const CHANNEL: f64 = 100.0;
/// Heavy rain of 10 mm/h, in metres per second. The discharge of droplets is stated as the area on which this rain supplies it.
pub const HEAVY_RAIN: f64 = 10.0 / 1000.0 / 3600.0;
