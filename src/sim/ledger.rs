//! Where every cubic metre went.

use std::collections::BTreeMap;

/// What one process did, all in cubic metres and summed in f64.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
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
    /// On its way in particles at this moment.
    pub carried: f64,
}

impl Row {
    /// Whether all of it are numbers.
    fn is_finite(&self) -> bool {
        let Self { moved, eroded, deposited, outflow, lost, inflow, evaporated, carried } = self;
        [moved, eroded, deposited, outflow, lost, inflow, evaporated, carried]
            .into_iter()
            .all(|value| value.is_finite())
    }
}

/// One substance: what there was, what came and went.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// Volume at the start.
    pub start: f64,
    /// Volume added (or, negative, removed) by hand since.
    pub edits: f64,
    /// What each process did, by its key.
    pub rows: BTreeMap<&'static str, Row>,
}

impl Account {
    /// The row of a process.
    pub fn row(&mut self, process: &'static str) -> &mut Row {
        self.rows.entry(process).or_default()
    }

    /// The sum over all processes of one column.
    pub fn sum(&self, column: impl Fn(&Row) -> f64) -> f64 {
        self.rows.values().map(column).sum()
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
        [&self.solid, &self.water].into_iter().filter_map(|account| account.rows.get(process)).all(Row::is_finite)
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
