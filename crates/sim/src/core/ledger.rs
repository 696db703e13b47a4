//! Ledger of every cubic metre of solids and water.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use super::bounds::VOLUME;

/// Transfers by one process, in cubic metres, summed in f64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 8]", into = "[f64; 8]")]
pub struct LedgerRow {
    /// Σ|change of ground| over all single transfers.
    pub moved: f64,
    /// Eroded from the ground, as a positive number.
    pub eroded: f64,
    /// Deposited on the ground.
    pub deposited: f64,
    /// Outflow across an open edge.
    pub outflow: f64,
    /// Destroyed by the published model, listed separately; 0 in a default mode.
    pub lost: f64,
    /// Inflow from outside: rain, springs, the sea.
    pub inflow: f64,
    /// Evaporated.
    pub evaporated: f64,
    /// In transit: in particles, and remainders below the last digit of a height, which may be negative.
    pub carried: f64,
}

/// Transfer between the map and its outside, or into transit: a term of the balance of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// Rain, springs, the sea, uplift.
    Inflow,
    /// Across an open edge.
    Outflow,
    /// Into the air.
    Evaporation,
    /// Destroyed by a published model.
    Loss,
    /// Between the layers and particles or remainders below the last digit of a height.
    Transit,
}

impl LedgerRow {
    /// Returns the signed terms by which this process changes the volume of the layers. Erosion and deposition are none of them, as
    /// they move volume within the account.
    pub fn transfers(&self) -> [(Transfer, f64); 5] {
        [
            (Transfer::Inflow, self.inflow),
            (Transfer::Outflow, -self.outflow),
            (Transfer::Evaporation, -self.evaporated),
            (Transfer::Loss, -self.lost),
            (Transfer::Transit, -self.carried),
        ]
    }
}

impl From<[f64; 8]> for LedgerRow {
    fn from([moved, eroded, deposited, outflow, lost, inflow, evaporated, carried]: [f64; 8]) -> Self {
        Self { moved, eroded, deposited, outflow, lost, inflow, evaporated, carried }
    }
}

impl From<LedgerRow> for [f64; 8] {
    fn from(row: LedgerRow) -> Self {
        let LedgerRow { moved, eroded, deposited, outflow, lost, inflow, evaporated, carried } = row;
        [moved, eroded, deposited, outflow, lost, inflow, evaporated, carried]
    }
}

/// Account of one substance: initial volume, gains and losses.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Initial volume.
    pub start: f64,
    /// Net volume added by edits since the start; negative if removed.
    pub edits: f64,
    /// Transfers of each process, by its key.
    pub rows: BTreeMap<Cow<'static, str>, LedgerRow>,
}

impl Account {
    /// Returns the row of a process.
    pub fn row(&mut self, process: &'static str) -> &mut LedgerRow {
        self.rows.entry(Cow::Borrowed(process)).or_default()
    }

    /// Books a net external inflow of a process, in cubic metres. A negative volume is outflow.
    pub fn book_inflow(&mut self, process: &'static str, volume: f64) {
        let row = self.row(process);
        row.inflow += volume.max(0.0);
        row.outflow -= volume.min(0.0);
    }

    /// Checks that all volumes are in range and that each row belongs to one of these processes.
    ///
    /// # Errors
    /// The problem, in one sentence.
    pub fn check(&self, processes: &[&str]) -> Result<(), String> {
        VOLUME.check("the initial volume in its ledger", self.start)?;
        VOLUME.check("the volume of edits in its ledger", self.edits)?;
        for (key, row) in &self.rows {
            if !processes.contains(&&**key) {
                return Err(format!("its ledger has a row for the unknown process \"{key}\""));
            }
            let name = format!("a volume of {key} in its ledger");
            <[f64; 8]>::from(*row).into_iter().try_for_each(|volume| VOLUME.check(&name, volume))?;
        }
        Ok(())
    }

    /// Returns the sum of a column over all processes.
    pub fn sum(&self, column: impl Fn(&LedgerRow) -> f64) -> f64 {
        // An empty sum is 0, not −0.
        self.rows.values().map(column).fold(0.0, |sum, own| sum + own)
    }

    /// Returns the excess (positive) or deficit of volume, given the volume now on the map. It is zero except for rounding.
    pub fn residual(&self, now: f64) -> f64 {
        now + self.sum(|row| row.carried + row.outflow + row.evaporated + row.lost - row.inflow)
            - self.edits
            - self.start
    }
}

/// Accounts of the conserved substances.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Bedrock, sand and sediment.
    pub solid: Account,
    /// Water.
    pub water: Account,
}

impl Ledger {
    /// Returns `true` if all volumes of a process are finite.
    pub fn is_finite(&self, process: &str) -> bool {
        [&self.solid, &self.water]
            .into_iter()
            .filter_map(|account| account.rows.get(process))
            .all(|row| <[f64; 8]>::from(*row).into_iter().all(f64::is_finite))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_and_residual_add_up_to_present_volume() {
        let mut account = Account { start: 100.0, edits: -5.0, ..Account::default() };
        *account.row("water") =
            LedgerRow { inflow: 8.0, outflow: 3.0, evaporated: 2.0, carried: -1.5, ..LedgerRow::default() };
        *account.row("droplets") = LedgerRow { eroded: 40.0, deposited: 30.0, lost: 0.5, ..LedgerRow::default() };
        let transfers: f64 = account.rows.values().flat_map(LedgerRow::transfers).map(|(_, volume)| volume).sum();
        assert_eq!(transfers, 4.0);
        assert_eq!(account.start + account.edits + transfers + account.residual(99.25), 99.25);
    }

    #[test]
    fn residual_is_volume_unaccounted_for_by_rows() {
        let mut account = Account { start: 100.0, edits: 5.0, ..Account::default() };
        *account.row("droplets") = LedgerRow { outflow: 10.0, carried: 2.0, ..LedgerRow::default() };
        account.row("wind").lost = 3.0;
        assert_eq!(account.residual(90.0), 0.0);
        assert_eq!(account.residual(91.5), 1.5);
    }
}
