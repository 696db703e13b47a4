//! Test helper for declarations, used by every crate that declares parameters.

use bevy_reflect::structs::Struct;

use super::{Value, collect_parameters, get, parse, set};

/// Asserts that every field of a group has a knob, a doc comment, a source and a default within its range, that its conditions
/// refer to existing parameters and values, and that its value survives a round trip through text.
///
/// # Panics
/// If a declaration is incomplete, with the path of the field.
pub fn assert_declared(group: &'static str, fields: &mut dyn Struct) {
    let declared = collect_parameters((group, fields));
    assert_eq!(declared.len(), fields.field_len(), "{group}: a field lacks a knob or has an unsupported type");
    for parameter in &declared {
        let path = &parameter.path;
        assert!(!parameter.doc.is_empty(), "{path} has no doc comment");
        assert!(!parameter.knob.source.is_empty(), "{path} has no source");
        assert!(parameter.knob.min < parameter.knob.max, "{path} has an empty range");
        let words = parameter.knob.only.split_whitespace().filter(|word| *word != "or");
        assert_eq!(words.count(), parameter.knob.conditions().count(), "{path} has a condition that is not name=value");
        for (name, values) in parameter.knob.conditions() {
            let asked = declared.iter().find(|other| other.name == name);
            let asked = asked.unwrap_or_else(|| panic!("{path} depends on the unknown parameter \"{name}\""));
            let known = |value: &&str| parse(asked, value).is_ok_and(|parsed| parsed.to_string() == **value);
            assert!(values.iter().all(known), "{path} depends on an invalid value of {name}");
        }
        assert!(!parameter.knob.log || parameter.knob.min >= 0.0, "{path} is logarithmic from {}", parameter.knob.min);
        let value = parse(parameter, &parameter.value.to_string());
        assert_eq!(value.as_ref(), Ok(&parameter.value), "{path}: its default is out of range or not restored");
        if let Value::Number(_) = parameter.value {
            let doc = parameter.doc.to_lowercase();
            let range = format!("{}–{}", parameter.knob.min, parameter.knob.max);
            assert!(!doc.contains(&range) && !doc.contains("default"), "{path}: its doc repeats a default or range");
            for end in [parameter.knob.min, parameter.knob.max] {
                set(&mut [(group, &mut *fields)], path, &end.to_string()).unwrap_or_else(|e| panic!("{e}"));
                let Value::Number(back) = get(&[(group, &*fields)], path).expect("it exists").value else {
                    panic!("{path} is a number")
                };
                assert!((back - end).abs() <= 1e-6 * end.abs(), "{path}: {end} came back as {back}");
            }
            set(&mut [(group, &mut *fields)], path, &parameter.value.to_string()).expect("its default fits");
        }
    }
}
