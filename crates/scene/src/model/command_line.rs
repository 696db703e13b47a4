//! Command line that reproduces the simulation of a session without a window.

use super::{origin::Origin, session::Session};
use thalweg_sim::{params, simulation::Slot};

impl Session {
    /// Returns the command that reproduces this simulation without a window.
    pub fn command_line(&self) -> String {
        let Origin { input, options, maps, .. } = &self.origin;
        let mut words = ["thalweg", "build", &input.to_string_lossy()].map(str::to_owned).to_vec();
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), value]);
        option("--seed", self.simulation.seed().wrapping_sub(self.origin.seed_offset).to_string());
        option("--ticks", self.simulation.ticks().to_string());
        if let Some((width, height)) = options.size {
            option("--size", format!("{width}x{height}"));
        }
        let lengths =
            [("--cell-size", options.cell_size), ("--min-height", options.min_m), ("--max-height", options.max_m)];
        for (name, length) in lengths {
            if let Some(metres) = length {
                option(name, metres.to_string());
            }
        }
        for (layer, path) in maps {
            if let Some((name, _)) = layer.row().import.and_then(|import| import.option) {
                option(&format!("--{name}"), path.display().to_string());
            }
        }
        let mut changed = self.different_from(&self.opened_with);
        if ["terrain.width", "terrain.height"].iter().any(|path| changed.contains_key(*path)) {
            // Parameters that scale with the map size would follow the new size.
            let all = self.groups().into_iter().flat_map(params::collect_parameters);
            changed.extend(all.filter(|own| own.knob.grows).map(|own| (own.path, own.value.to_string())));
        }
        for (path, value) in changed {
            option("--set", format!("{path}={value}"));
        }
        let enabled: Vec<&str> = self.simulation.slots.iter().filter(|slot| slot.enabled).map(Slot::key).collect();
        if enabled.is_empty() {
            let all: Vec<&str> = self.simulation.slots.iter().map(Slot::key).collect();
            option("--disable", all.join(","));
        } else {
            option("--enable", enabled.join(","));
        }
        option("--out", "thalweg-out".to_owned());
        // Quoted for a shell. No word contains NUL, as neither paths nor numbers do.
        shlex::Quoter::new().allow_nul(true).join(words.iter().map(String::as_str)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crate::{io::scene::open_first, model::origin::Options};

    #[test]
    fn command_line_contains_only_changed_parameters() {
        let mut session = open_first("round-hill", &Options::default()).expect("built in");
        assert_eq!(
            session.command_line(),
            "thalweg build round-hill --seed 1 --ticks 0 --enable droplets --out thalweg-out"
        );
        let mut resized = session.clone();
        resized.resize(512);
        resized.set("droplets.per_tick", "1000").expect("in range");
        let line = resized.command_line();
        for expected in ["terrain.width=512", "droplets.per_tick=1000", "droplets.total=800000", "wind.per_tick=4096"] {
            assert!(line.contains(expected), "{line}");
        }
        session.set("droplets.friction", "0.2").expect("in range");
        session.origin.input = "my maps/it's.png".into();
        session.enable(&[]);
        let words = shlex::split(&session.command_line()).expect("a shell can read it");
        assert_eq!(words[..3], ["thalweg", "build", "my maps/it's.png"]);
        let value = |option: &str| Some(&*words[words.iter().position(|word| word == option)? + 1]);
        assert!(value("--disable").is_some_and(|all| all.starts_with("droplets,")), "{words:?}");
        assert_eq!(value("--set"), Some("droplets.friction=0.2"));
    }
}
