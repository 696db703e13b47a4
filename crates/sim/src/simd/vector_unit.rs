//! Which vector unit of the processor works: the widest that the machine has, or the one that `THALWEG_SIMD` names.

use std::sync::LazyLock;

use fearless_simd::Level;

/// The variable of the environment that names one.
const VARIABLE: &str = "THALWEG_SIMD";

/// What numbers are worked on with, the narrowest first. The bits of a result don't depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum VectorUnit {
    /// One number after the other, on any machine.
    Scalar,
    /// Four at once, on ARM.
    Neon,
    /// Eight at once, on x86-64.
    Avx2,
    /// Sixteen at once, on x86-64.
    Avx512,
}

impl VectorUnit {
    /// All of them, with the names that `THALWEG_SIMD` knows.
    pub const ALL: [(Self, &str); 4] =
        [(Self::Scalar, "scalar"), (Self::Neon, "neon"), (Self::Avx2, "avx2"), (Self::Avx512, "avx512")];

    /// Its name, as `THALWEG_SIMD` knows it.
    pub fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(unit, _)| *unit == self).map_or("", |(_, name)| name)
    }

    /// Whether this machine has it.
    pub fn is_there(self) -> bool {
        self == Self::Scalar || self.level().is_some()
    }

    /// The proof that this machine has it; nothing without one, and for plain code.
    #[inline]
    pub(crate) fn level(self) -> Option<Level> {
        match self {
            #[cfg(target_arch = "aarch64")]
            Self::Neon => Level::new().as_neon().map(Level::Neon),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => Level::new().as_avx2().map(Level::Avx2),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => Level::new().as_avx512().map(Level::Avx512),
            _ => None,
        }
    }

    /// The one that works, which this machine has. It stays the same as long as the program runs.
    ///
    /// # Panics
    /// If `THALWEG_SIMD` asks for what there is not; the program has asked [`Self::wanted`] before.
    #[inline]
    pub fn working() -> Self {
        static WORKING: LazyLock<VectorUnit> =
            LazyLock::new(|| VectorUnit::wanted().unwrap_or_else(|sentence| panic!("{sentence}")));
        *WORKING
    }

    /// The one that `THALWEG_SIMD` names; without it, the widest that this machine has.
    ///
    /// # Errors
    /// One sentence, if there is none of this name or this machine lacks it.
    pub fn wanted() -> Result<Self, String> {
        let name = std::env::var_os(VARIABLE);
        Self::named(name.as_ref().map(|name| name.to_string_lossy()).as_deref())
    }

    fn named(name: Option<&str>) -> Result<Self, String> {
        let there = || Self::ALL.into_iter().filter(|(unit, _)| unit.is_there());
        let Some(name) = name else {
            return Ok(there().map(|(unit, _)| unit).max().unwrap_or(Self::Scalar));
        };
        let found = there().find(|(_, known)| *known == name).map(|(unit, _)| unit);
        found.ok_or_else(|| {
            let known = Self::ALL.iter().any(|(_, known)| *known == name);
            let wrong = if known { "which this machine lacks" } else { "which is no vector unit" };
            let names: Vec<&str> = there().map(|(_, name)| name).collect();
            format!("{VARIABLE} asks for \"{}\", {wrong}; it has {}", name.escape_debug(), names.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_taken_by_its_name_if_the_machine_has_it() {
        for (unit, name) in VectorUnit::ALL {
            match VectorUnit::named(Some(name)) {
                Ok(found) => assert!(unit.is_there() && found == unit),
                Err(sentence) => assert!(!unit.is_there() && sentence.contains("this machine lacks"), "{sentence}"),
            }
        }
        let widest = VectorUnit::named(None).unwrap_or_else(|sentence| panic!("{sentence}"));
        assert!(VectorUnit::ALL.iter().all(|(unit, _)| *unit <= widest || !unit.is_there()));
        for wrong in ["", "AVX2", "sse", "avx2\n"] {
            let sentence = VectorUnit::named(Some(wrong)).expect_err(wrong);
            assert!(sentence.contains("is no vector unit; it has scalar") && !sentence.contains('\n'), "{sentence}");
        }
    }
}
