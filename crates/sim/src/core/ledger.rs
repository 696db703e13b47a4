//! Where every cubic metre went.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

use super::bounds::VOLUME;

/// What one process did, all in cubic metres and summed in f64.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 8]", into = "[f64; 8]")]
pub struct Row {
    /// Σ|change of ground|, counting every single transfer.
    pub moved: f64,
    /// Taken off the ground, as a positive number.
    pub eroded: f64,
    /// Laid on the ground.
    pub deposited: f64,
    /// Left over an open edge.
    pub outflow: f64,
    /// Destroyed by the model as published, under its own name: a default mode leaves it at 0.
    pub lost: f64,
    /// Came from outside: rain, springs, the sea.
    pub inflow: f64,
    /// Went into the air.
    pub evaporated: f64,
    /// On its way at this moment: in particles, and what is too little to change the last digit of a height, which may be negative.
    pub carried: f64,
}

impl From<[f64; 8]> for Row {
    fn from([moved, eroded, deposited, outflow, lost, inflow, evaporated, carried]: [f64; 8]) -> Self {
        Self { moved, eroded, deposited, outflow, lost, inflow, evaporated, carried }
    }
}

impl From<Row> for [f64; 8] {
    fn from(row: Row) -> Self {
        let Row { moved, eroded, deposited, outflow, lost, inflow, evaporated, carried } = row;
        [moved, eroded, deposited, outflow, lost, inflow, evaporated, carried]
    }
}

/// One substance: what there was, what came and went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// Volume at the start.
    pub start: f64,
    /// Volume added (or, negative, removed) by hand since.
    pub edits: f64,
    /// What each process did, by its key.
    pub rows: BTreeMap<Cow<'static, str>, Row>,
}

impl Account {
    /// The row of a process.
    pub fn row(&mut self, process: &'static str) -> &mut Row {
        self.rows.entry(Cow::Borrowed(process)).or_default()
    }

    /// Books what came from outside for a process at once, in cubic metres; what is negative went.
    pub fn came(&mut self, process: &'static str, volume: f64) {
        let row = self.row(process);
        row.inflow += volume.max(0.0);
        row.outflow -= volume.min(0.0);
    }

    /// Checks that its volumes are in range and that each row belongs to one of these processes.
    ///
    /// # Errors
    /// One sentence: what is wrong.
    pub fn check(&self, processes: &[&str]) -> Result<(), String> {
        VOLUME.check("its ledger's volume at the start", self.start)?;
        VOLUME.check("its ledger's volume of edits", self.edits)?;
        for (key, row) in &self.rows {
            if !processes.contains(&&**key) {
                return Err(format!("its ledger has a process \"{key}\", which there is not"));
            }
            let name = format!("a volume of {key} in its ledger");
            <[f64; 8]>::from(*row).into_iter().try_for_each(|volume| VOLUME.check(&name, volume))?;
        }
        Ok(())
    }

    /// The sum over all processes of one column.
    pub fn sum(&self, column: impl Fn(&Row) -> f64) -> f64 {
        // Without any row the sum is 0, not −0.
        self.rows.values().map(column).fold(0.0, |sum, own| sum + own)
    }

    /// What the ground and the particles hold too much (positive) or too little, given the volume now on the map.
    /// Zero but for rounding.
    pub fn residual(&self, now: f64) -> f64 {
        now + self.sum(|row| row.carried + row.outflow + row.evaporated + row.lost - row.inflow)
            - self.edits
            - self.start
    }
}

/// The accounts of the substances that are conserved.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// Bedrock, sand and sediment.
    pub solid: Account,
    /// Water.
    pub water: Account,
}

impl Ledger {
    /// Whether all that a process has done are numbers.
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
    fn the_residual_is_what_no_row_accounts_for() {
        let mut account = Account { start: 100.0, edits: 5.0, ..Account::default() };
        *account.row("droplets") = Row { outflow: 10.0, carried: 2.0, ..Row::default() };
        account.row("wind").lost = 3.0;
        assert_eq!(account.residual(90.0), 0.0);
        assert_eq!(account.residual(91.5), 1.5);
    }
}
