//! Declaration of parameters: a parameter is one field of one struct, declared once.
//!
//! The doc comment of a field describes it, its [`Knob`] gives range, unit, symbol and source, and `Default` of the struct its
//! default. The functions here derive sliders, tooltips, `--set`, scene files, range checks and the tables of the documentation
//! from that declaration.
//!
//! A group of parameters is a flat struct. The path of a parameter is `group.field`, for example `droplets.dt`.

mod declared;

use std::{fmt, ops::RangeInclusive};

pub use self::declared::assert_declared;

use bevy_reflect::{
    PartialReflect, Reflect, ReflectMut, ReflectRef, TypeInfo,
    enums::{DynamicEnum, VariantInfo},
    structs::Struct,
};

/// Alternative display of a number.
#[derive(Reflect, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DisplayAlias {
    /// None.
    #[default]
    None,
    /// For a wind direction, in degrees clockwise from the right of the map: the direction the wind comes from, as in meteorology.
    Wind,
    /// For a rain rate in metres per second: millimetres per hour.
    Rain,
}

/// Points of the compass, clockwise from the top of the map.
const COMPASS: [&str; 16] =
    ["N", "NNE", "NE", "ENE", "E", "ESE", "SE", "SSE", "S", "SSW", "SW", "WSW", "W", "WNW", "NW", "NNW"];

impl DisplayAlias {
    /// Returns the alternative display of `number`, if there is one. `display_unit` returns the display unit of a metric unit, and the
    /// factor to it.
    pub fn format_alias(
        self,
        number: f64,
        display_unit: impl FnOnce(&'static str) -> (&'static str, f64),
    ) -> Option<String> {
        match self {
            Self::None => None,
            Self::Wind => {
                let from = (number + 270.0).rem_euclid(360.0);
                let point = COMPASS[(from / 22.5).round() as usize % COMPASS.len()];
                Some(format!("from {point}, {:.0}°", from.round() % 360.0))
            }
            Self::Rain => {
                let (unit, times) = display_unit("mm/h");
                let hourly = times * number * 3.6e6;
                let decimals = [10.0, 1.0, 0.1].into_iter().filter(|least| hourly < *least).count();
                Some(format!("{hourly:.decimals$} {unit}"))
            }
        }
    }
}

/// Range, unit, symbol and source of a parameter. Built with [`knob`] or [`choice`] in a field's `#[reflect(@…)]`.
#[derive(Reflect, Clone, Debug, PartialEq)]
pub struct Knob {
    /// Label in panels; empty to use the field name.
    pub title: &'static str,
    /// Smallest allowed value; 0 for switches and choices.
    pub min: f64,
    /// Largest allowed value; 1 for switches and choices.
    pub max: f64,
    /// Unit printed after the number; empty if dimensionless.
    pub unit: &'static str,
    /// Symbol in the equations of the source; empty if there is none.
    pub symbol: &'static str,
    /// Source of the parameter and its range: paper, article or "this work".
    pub source: &'static str,
    /// `true` if ratios matter rather than differences. Sliders are then logarithmic.
    pub log: bool,
    /// `true` for the few parameters that a panel shows first.
    pub main: bool,
    /// Values of other parameters of the group for which this one has an effect, as `law=2020 generator=perlin|simplex`. ` or `
    /// separates alternatives. Empty if it always has an effect.
    pub only: &'static str,
    /// `true` for a count over the whole map, such as droplets, which scales with the number of cells. Its default holds for
    /// [`REFERENCE_CELLS`].
    pub grows: bool,
    /// Alternative display of the value.
    pub reading: DisplayAlias,
    /// `true` if a change need not affect a layer within a few ticks: the parameter is visual, acts at the border or in the long
    /// run, or depends on another one.
    pub indirect: bool,
}

/// Attribute of a variant: its name in files and on the command line, if that is not the variant's own in kebab case.
#[derive(Reflect, Clone, Copy, Debug)]
pub struct ChoiceName(pub &'static str);

/// Returns the name of a variant of a choice.
fn choice_name(variant: &VariantInfo) -> String {
    let named = match variant {
        VariantInfo::Unit(unit) => unit.get_attribute::<ChoiceName>(),
        _ => None,
    };
    named.map_or_else(|| kebab(variant.name()), |choice| choice.0.to_owned())
}

/// Side of the map, in cells, for which size-dependent defaults are stated.
pub const REFERENCE_SIDE: f64 = 256.0;
/// Number of cells of that map.
pub const REFERENCE_CELLS: f64 = REFERENCE_SIDE * REFERENCE_SIDE;

/// Creates a knob for a number within `range`.
pub const fn knob(range: RangeInclusive<f64>) -> Knob {
    let (min, max) = (*range.start(), *range.end());
    Knob {
        title: "",
        min,
        max,
        unit: "",
        symbol: "",
        source: "",
        log: false,
        main: false,
        only: "",
        grows: false,
        reading: DisplayAlias::None,
        indirect: false,
    }
}

/// Creates a knob for a switch or an enum, which have no range.
pub const fn choice() -> Knob {
    knob(0.0..=1.0)
}

impl Knob {
    /// Sets the label in panels.
    pub const fn title(mut self, title: &'static str) -> Self {
        self.title = title;
        self
    }

    /// Marks a parameter whose change need not affect a layer within a few ticks.
    pub const fn indirect(mut self) -> Self {
        self.indirect = true;
        self
    }

    /// Sets the unit.
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }

    /// Sets the symbol.
    pub const fn symbol(mut self, symbol: &'static str) -> Self {
        self.symbol = symbol;
        self
    }

    /// Sets the source.
    pub const fn source(mut self, source: &'static str) -> Self {
        self.source = source;
        self
    }

    /// Marks a parameter with a logarithmic slider.
    pub const fn log(mut self) -> Self {
        self.log = true;
        self
    }

    /// Marks a parameter that panels show first.
    pub const fn main(mut self) -> Self {
        self.main = true;
        self
    }

    /// Restricts the effect to these values of other parameters.
    pub const fn only(mut self, conditions: &'static str) -> Self {
        self.only = conditions;
        self
    }

    /// Marks a count that scales with the number of cells.
    pub const fn grows(mut self) -> Self {
        self.grows = true;
        self
    }

    /// Sets the alternative display.
    pub const fn reads(mut self, reading: DisplayAlias) -> Self {
        self.reading = reading;
        self
    }

    /// Returns the conditions of all alternatives of [`Self::only`]: names of parameters, and their allowed values.
    pub fn conditions(&self) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> + use<> {
        self.only.split(" or ").flat_map(conditions)
    }

    /// Returns the first condition that makes the parameter ineffective in its group, or `None` if it has an effect.
    pub fn idle(&self, group: &[Parameter]) -> Option<(&'static str, Vec<&'static str>)> {
        let fails = |(name, values): &(&str, Vec<&str>)| {
            let named = group.iter().find(|parameter| parameter.name == *name);
            named.is_some_and(|parameter| values.iter().all(|value| parameter.value.to_string() != *value))
        };
        let failing: Vec<_> = self.only.split(" or ").map(|alternative| conditions(alternative).find(fails)).collect();
        // One alternative that holds suffices.
        failing.into_iter().collect::<Option<Vec<_>>>()?.into_iter().next()
    }
}

/// Returns the conditions of an alternative, all of which must hold.
fn conditions(alternative: &'static str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    let conditions = alternative.split_whitespace().filter_map(|condition| condition.split_once('='));
    conditions.map(|(name, values)| (name, values.split('|').collect()))
}

/// Value of a parameter, independent of its Rust type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `f32`, `u32`, `u64` and `usize` fields.
    Number(f64),
    /// `bool` fields.
    Switch(bool),
    /// Fields of a unit-variant enum: the name of the variant.
    Choice(String),
    /// `[f32; 3]` fields: red, green, blue in sRGB, 0 to 1.
    Color([f32; 3]),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => write!(f, "{number}"),
            Value::Switch(on) => write!(f, "{on}"),
            Value::Choice(name) => f.write_str(name),
            Value::Color([r, g, b]) => write!(f, "{r},{g},{b}"),
        }
    }
}

/// Declaration and current value of a parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Group and field: `droplets.dt`.
    pub path: String,
    /// Name of the field.
    pub name: &'static str,
    /// Description, with the effects of high and low values.
    pub doc: &'static str,
    /// Range, unit, symbol and source.
    pub knob: Knob,
    /// Current value.
    pub value: Value,
    /// Names of the variants; empty unless the value is a choice.
    pub choices: Vec<String>,
    /// `true` for integers.
    pub whole: bool,
}

impl Parameter {
    /// Returns the label in panels.
    pub fn title(&self) -> String {
        if self.knob.title.is_empty() { title(self.name) } else { self.knob.title.to_owned() }
    }

    /// Returns the kind, as in `thalweg params --json`: `whole` or `number`, `switch`, `choice` or `colour`.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Value::Number(_) if self.whole => "whole",
            Value::Number(_) => "number",
            Value::Switch(_) => "switch",
            Value::Choice(_) => "choice",
            Value::Color(_) => "colour",
        }
    }
}

/// Named group of parameters.
pub type Group<'a> = (&'static str, &'a dyn Struct);
/// Mutable named group of parameters.
pub type GroupMut<'a> = (&'static str, &'a mut dyn Struct);

/// Reason why a parameter was not set, in one sentence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
pub struct ParamError(String);

/// Returns all parameters of a group, in order of declaration.
pub fn collect_parameters((group, fields): Group<'_>) -> Vec<Parameter> {
    let Some(TypeInfo::Struct(info)) = fields.get_represented_type_info() else { return Vec::new() };
    let mut found = Vec::with_capacity(fields.field_len());
    for (index, declared) in info.iter().enumerate() {
        let (Some(knob), Some(field)) = (declared.get_attribute::<Knob>(), fields.field_at(index)) else { continue };
        let Some((value, choices, whole)) = read(field) else { continue };
        found.push(Parameter {
            path: format!("{group}.{}", declared.name()),
            name: declared.name(),
            doc: declared.docs().unwrap_or_default().trim(),
            knob: knob.clone(),
            value,
            choices,
            whole,
        });
    }
    found
}

/// Returns the parameter at `path`. The error names the closest existing path.
pub fn get(groups: &[Group<'_>], path: &str) -> Result<Parameter, ParamError> {
    let own = groups.iter().filter(|(name, _)| path.split('.').next() == Some(*name));
    own.flat_map(|&group| collect_parameters(group)).find(|parameter| parameter.path == path).ok_or_else(|| {
        let all: Vec<Parameter> = groups.iter().flat_map(|&group| collect_parameters(group)).collect();
        let nearest = closest_match(path, all.iter().map(|parameter| parameter.path.as_str()));
        let nearest = nearest.map(|name| format!("; the closest match is \"{name}\"")).unwrap_or_default();
        ParamError(format!("there is no parameter \"{path}\"{nearest}"))
    })
}

/// Sets the parameter at `path` from text, as `--set` does. Changes nothing on error.
pub fn set(groups: &mut [GroupMut<'_>], path: &str, text: &str) -> Result<(), ParamError> {
    let seen: Vec<Group<'_>> = groups.iter().map(|(name, fields)| (*name, &**fields)).collect();
    let parameter = get(&seen, path)?;
    let value = parse(&parameter, text.trim())?;
    let group = path.split('.').next().unwrap_or_default();
    if let Some((_, fields)) = groups.iter_mut().find(|(name, _)| *name == group) {
        write(*fields, parameter.name, &value);
    }
    Ok(())
}

/// Writes a valid value to a field of a group.
///
/// Returns `false`, and changes nothing, if there is no such field or the value is of another kind.
pub fn write(fields: &mut dyn Struct, name: &str, value: &Value) -> bool {
    let Some(field) = fields.field_mut(name) else { return false };
    if let (Value::Choice(chosen), ReflectMut::Enum(_)) = (value, field.reflect_mut()) {
        let Some(TypeInfo::Enum(info)) = field.get_represented_type_info() else { return false };
        let Some(variant) = info.iter().find(|variant| choice_name(variant) == *chosen) else { return false };
        return field.try_apply(&DynamicEnum::new(variant.name(), ())).is_ok();
    }
    macro_rules! assign {
        ($value:expr, $($kind:ty),*) => {
            { $(if let Some(place) = field.try_downcast_mut::<$kind>() { *place = $value as $kind; return true; })* }
        };
    }
    match value {
        Value::Number(number) => assign!(*number, f32, u32, u64, usize),
        Value::Switch(on) => assign!(*on, bool),
        Value::Color(color) => assign!(*color, [f32; 3]),
        Value::Choice(_) => {}
    }
    false
}

/// Returns the parameters, each multiplied by the factor of the same name, if any, and clamped to its range.
pub fn scale_parameters<P: Struct + Clone>(params: &P, factors: &dyn Struct) -> P {
    let mut scaled = params.clone();
    let factors = collect_parameters(("", factors));
    for parameter in collect_parameters(("", params)) {
        let factor = factors.iter().find(|factor| factor.name == parameter.name).map(|factor| &factor.value);
        if let (Value::Number(number), Some(&Value::Number(factor))) = (&parameter.value, factor)
            && factor != 1.0
        {
            let product = (number * factor).clamp(parameter.knob.min, parameter.knob.max);
            write(&mut scaled, parameter.name, &Value::Number(product));
        }
    }
    scaled
}

/// Scales the counts that grow with the map from one number of cells to another, clamped to their ranges. Only those whose paths
/// are `wanted` change. `defaults` is the unmodified group: a count at the default for the old map becomes the default for the new
/// one, any other is multiplied.
pub fn rescale_counts(group: GroupMut<'_>, defaults: &dyn Struct, [from, to]: [f64; 2], wanted: impl Fn(&str) -> bool) {
    let (name, fields) = group;
    let stated = collect_parameters((name, defaults));
    for (parameter, stated) in collect_parameters((name, &*fields)).into_iter().zip(stated) {
        let (Value::Number(now), Value::Number(stated)) = (parameter.value, stated.value) else { continue };
        if !parameter.knob.grows || !wanted(&parameter.path) {
            continue;
        }
        let fit = |number: f64| number.round().clamp(parameter.knob.min, parameter.knob.max);
        let of = |cells: f64| fit(stated * cells / REFERENCE_CELLS);
        let number = if now == of(from) { of(to) } else { fit(now * to / from) };
        write(fields, parameter.name, &Value::Number(number));
    }
}

/// Parses a value of a parameter and checks its range.
///
/// # Errors
/// Malformed text, or a number outside the range.
pub fn parse(parameter: &Parameter, text: &str) -> Result<Value, ParamError> {
    let Parameter { path, knob: Knob { min, max, unit, .. }, .. } = parameter;
    let malformed = |expected: &str| ParamError(format!("{path} cannot be \"{text}\"; expected {expected}"));
    let in_range = |number: f64| {
        let space = if unit.is_empty() { "" } else { " " };
        let outside = || ParamError(format!("{path} cannot be {number}; expected {min} to {max}{space}{unit}"));
        (*min..=*max).contains(&number).then_some(number).ok_or_else(outside)
    };
    match &parameter.value {
        Value::Number(_) => {
            let fits = |number: &f64| !number.is_nan() && (!parameter.whole || number.fract() == 0.0);
            let number = text.parse().ok().filter(fits);
            let expected = if parameter.whole { "a whole number" } else { "a number" };
            in_range(number.ok_or_else(|| malformed(expected))?).map(Value::Number)
        }
        Value::Switch(_) => match text {
            "true" | "on" | "yes" | "1" => Ok(Value::Switch(true)),
            "false" | "off" | "no" | "0" => Ok(Value::Switch(false)),
            _ => Err(malformed("true or false")),
        },
        Value::Choice(_) => {
            let found = parameter.choices.iter().find(|name| *name == text).cloned();
            found.map(Value::Choice).ok_or_else(|| malformed(&format!("one of {}", parameter.choices.join(", "))))
        }
        Value::Color(_) => {
            let parts: Vec<f32> = text.split(',').filter_map(|part| part.trim().parse().ok()).collect();
            let color: [f32; 3] =
                parts.try_into().map_err(|_| malformed("three comma-separated numbers: red, green, blue"))?;
            color.into_iter().try_for_each(|part| in_range(part.into()).map(drop))?;
            Ok(Value::Color(color))
        }
    }
}

/// Returns the name most similar to `wanted`, if it is similar enough.
pub fn closest_match<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (strsim::jaro_winkler(wanted, name), name))
        .filter(|(likeness, _)| *likeness > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// Joins the names, and adds the closest match to `wanted`, if there is one.
pub fn join_with_suggestion(names: &[&str], wanted: &str) -> String {
    let near = closest_match(wanted, names.iter().copied()).map(|near| format!(" (closest match: {near})"));
    format!("{}{}", names.join(", "), near.unwrap_or_default())
}

/// Converts `MassTransfer` to `mass-transfer` and `_2020` to `2020`.
pub fn kebab(variant: &str) -> String {
    let variant = variant.trim_start_matches('_');
    let mut name = String::with_capacity(variant.len() + 4);
    for (index, letter) in variant.char_indices() {
        if letter.is_ascii_uppercase() && index > 0 {
            name.push('-');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

/// Converts `sun_azimuth` and `diamond-square` to display text.
pub fn title(name: &str) -> String {
    // Identifiers have American spelling, display texts British.
    let spaced = name.replace(['_', '-'], " ").replace("color", "colour");
    capital(&spaced)
}

/// Capitalises the first letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Returns the label of a choice in panels.
pub fn choice_title(name: &str) -> String {
    match name {
        "default" => "Corrected".to_owned(),
        "png" | "exr" => name.to_uppercase(),
        "fbm" => "fBm".to_owned(),
        "in-learn" => "In Learn".to_owned(),
        "bend" => "Curvature".to_owned(),
        "nowhere" | "nothing" => "None".to_owned(),
        "land" => "Terrain slope".to_owned(),
        "droplets" => "Droplet streams".to_owned(),
        other => title(other),
    }
}

/// Returns the value, the choices, and `true` for integers; `None` for a type that no parameter can have.
fn read(field: &dyn PartialReflect) -> Option<(Value, Vec<String>, bool)> {
    if let ReflectRef::Enum(value) = field.reflect_ref() {
        let info = value.get_represented_enum_info()?;
        let choices = info.iter().map(choice_name).collect();
        return Some((Value::Choice(choice_name(info.variant(value.variant_name())?)), choices, false));
    }
    let on = field.try_downcast_ref::<bool>().map(|on| Value::Switch(*on));
    let color = || field.try_downcast_ref::<[f32; 3]>().map(|color| Value::Color(*color));
    // Via the shortest decimal text, so that 0.1 is displayed and compared as 0.1.
    let number = || field.try_downcast_ref::<f32>()?.to_string().parse().ok().map(Value::Number);
    if let Some(value) = on.or_else(color).or_else(number) {
        return Some((value, Vec::new(), false));
    }
    let long = || field.try_downcast_ref::<u64>().map(|number| *number as f64);
    let size = || field.try_downcast_ref::<usize>().map(|number| *number as f64);
    let whole = field.try_downcast_ref::<u32>().map(|number| f64::from(*number)).or_else(long).or_else(size)?;
    Some((Value::Number(whole), Vec::new(), true))
}

#[cfg(test)]
mod tests;
