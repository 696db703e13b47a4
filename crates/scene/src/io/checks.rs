//! Results of the self-checks on this machine, as a text table.

use std::fmt::Write;

use crate::model::chart::format_number;
use thalweg_sim::{simd::vector_unit::VectorUnit, simulation::check::CheckResult};

/// Formats the results of the checks, with the machine they ran on.
pub fn table(found: &[CheckResult]) -> String {
    let mut text = format!(
        "Thalweg {} on {} {}, {} threads, SIMD: {}\n",
        env!("CARGO_PKG_VERSION"),
        std::env::consts::OS,
        std::env::consts::ARCH,
        rayon::current_num_threads(),
        VectorUnit::current().name()
    );
    let _ = writeln!(text, "  {:<22}{:>14}{:>12}{:>12}", "check", "measured", "expected", "within");
    for check in found {
        let mark = if check.holds() { "ok" } else { "FAILED" };
        let (measured, expected) = (format_number(check.measured), format_number(check.expected));
        let _ = writeln!(
            text,
            "  {:<22}{measured:>14}{expected:>12}{:>12}   {mark}: {}",
            check.title,
            format_number(check.within),
            check.about
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_table_marks_passed_and_failed() {
        let good = CheckResult { title: "Lake", about: "Still.", measured: 1e-7, expected: 0.0, within: 4e-6 };
        let bad = CheckResult { measured: 0.5, ..good };
        let text = table(&[good, bad]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].contains(env!("CARGO_PKG_VERSION")) && lines.len() == 4);
        assert!(lines[2].ends_with("1e-7           0        4e-6   ok: Still."), "{text}");
        assert!(lines[3].contains(" 0.5 ") && lines[3].contains("FAILED"), "{text}");
    }
}
