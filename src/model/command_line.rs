//! The command that makes a session's run without a window.

use super::{origin::Origin, session::Session};
use crate::sim::Slot;

impl Session {
    /// The command that makes this run without a window.
    pub fn command_line(&self) -> String {
        let Origin { input, options, maps, .. } = &self.origin;
        let mut words = vec!["thalweg".to_owned(), "build".to_owned(), quoted(input)];
        let mut option = |name: &str, value: String| words.extend([name.to_owned(), quoted(&value)]);
        option("--seed", self.simulation.seed().wrapping_sub(self.origin.seeds_before).to_string());
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
        for (path, value) in self.different_from(&self.opened_with) {
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
        words.join(" ")
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_=./,+:@".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::origin::Options;

    #[test]
    fn the_command_line_names_what_was_changed_and_nothing_else() {
        let mut session = Session::open("round-hill", &Options::default()).expect("built in");
        assert_eq!(
            session.command_line(),
            "thalweg build round-hill --seed 1 --ticks 0 --enable droplets --out thalweg-out"
        );
        session.set("droplets.friction", "0.2").expect("in range");
        session.origin.input = "my maps/it's.png".to_owned();
        session.enable(&[]);
        let command = session.command_line();
        assert!(command.contains(" --disable droplets,"), "{command}");
        assert!(command.contains(r"'my maps/it'\''s.png'"), "{command}");
        assert!(command.contains(" --set droplets.friction=0.2 "), "{command}");
    }
}
