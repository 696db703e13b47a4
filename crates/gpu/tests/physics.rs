//! The exact solutions that the processor is checked against, on the graphics card.

use thalweg_gpu::{Device, run_check};
use thalweg_sim::simulation::check::CHECKS;

#[test]
fn checks_against_exact_solutions_hold_on_the_card() {
    let device = match Device::open() {
        Ok(device) => device,
        Err(error) if std::env::var_os("THALWEG_REQUIRE_GPU").is_none() => return println!("SKIPPED: {error}"),
        Err(error) => panic!("{error}"),
    };
    let results = CHECKS.iter().filter_map(|check| run_check(&device, check).unwrap_or_else(|error| panic!("{error}")));
    let results: Vec<_> = results.collect();
    for result in &results {
        println!("{}: {:e} for {} ± {}", result.title, result.measured, result.expected, result.within);
        assert!(result.holds(), "{}: {:e} for {}", result.title, result.measured, result.expected);
    }
    // Lake, seiche, uniform flow, dam break and sand pile.
    assert_eq!(results.len(), 5);
}
