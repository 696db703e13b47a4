//! Sums of the transfers on the card, and their rows in the ledger.

use thalweg_sim::core::ledger::Ledger;

use crate::map::{DISPLACES, HAS_THERMAL, HAS_WATER, Map, PUBLISHED_WATER};

/// Number of sums of a workgroup.
pub(crate) const SUMS: usize = 15;

/// Sum of a workgroup, in metres times cells: the constants of `Group` in `shaders/sim/common.wgsl`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Sum {
    Eroded,
    Deposited,
    Rained,
    Evaporated,
    WaterOut,
    SolidOut,
    Given,
    Got,
    Crumbled,
    SlidOut,
    Sprung,
    Drained,
    SedimentLost,
    Rounded,
    Edited,
}

/// Books the sums of a run, in cubic metres, under the processes that it has.
pub(crate) fn book(ledger: &mut Ledger, map: &Map, sum: impl Fn(Sum) -> f64) {
    if map.restores() {
        ledger.solid.edits += sum(Sum::Edited);
    }
    if map.flags & HAS_WATER != 0 {
        let (eroded, deposited, out) = (sum(Sum::Eroded), sum(Sum::Deposited), sum(Sum::WaterOut));
        let row = ledger.water.row("water");
        row.inflow += sum(Sum::Rained) + sum(Sum::Sprung) + (-out).max(0.0);
        row.outflow += sum(Sum::Drained) + out.max(0.0);
        row.evaporated += sum(Sum::Evaporated);
        if map.flags & PUBLISHED_WATER != 0 && map.flags & DISPLACES != 0 {
            row.lost += deposited - eroded;
        }
        let row = ledger.solid.row("water");
        row.eroded += eroded;
        row.deposited += deposited;
        row.moved += eroded + deposited;
        row.outflow += sum(Sum::SolidOut);
        row.lost += sum(Sum::SedimentLost);
    }
    if map.flags & HAS_THERMAL != 0 {
        let (given, got) = (sum(Sum::Given), sum(Sum::Got));
        let row = ledger.solid.row("thermal");
        row.eroded += given;
        row.deposited += got;
        row.moved += given + got + sum(Sum::Crumbled);
        row.outflow += sum(Sum::SlidOut);
        row.lost += sum(Sum::Rounded);
    }
}
