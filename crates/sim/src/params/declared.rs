//! A check of declarations, for the tests of every crate that declares parameters.

use bevy_reflect::structs::Struct;

use super::{Value, get, parse, set, walk};

/// Checks every field of a group: it has a knob, a doc comment, a source and a default inside its range, its conditions name parameters and
/// values that exist, and it comes back from its text.
///
/// # Panics
/// If a declaration is not complete, with the path of the field.
pub fn assert_declared(group: &'static str, fields: &mut dyn Struct) {
    let declared = walk((group, fields));
    assert_eq!(declared.len(), fields.field_len(), "{group}: a field has no knob, or a type that no knob can have");
    for parameter in &declared {
        let path = &parameter.path;
        assert!(!parameter.doc.is_empty(), "{path} has no doc comment");
        assert!(!parameter.knob.source.is_empty(), "{path} has no source");
        assert!(parameter.knob.min < parameter.knob.max, "{path} has an empty range");
        for (name, values) in parameter.knob.conditions() {
            let asked = declared.iter().find(|other| other.name == name);
            let asked = asked.unwrap_or_else(|| panic!("{path} depends on \"{name}\", which there is not"));
            let known = |value: &&str| parse(asked, value).is_ok_and(|parsed| parsed.to_string() == **value);
            assert!(values.iter().all(known), "{path} depends on a value that {name} cannot have");
        }
        assert!(!parameter.knob.log || parameter.knob.min >= 0.0, "{path} is logarithmic from {}", parameter.knob.min);
        let value = parse(parameter, &parameter.value.to_string());
        assert_eq!(value.as_ref(), Ok(&parameter.value), "{path}: its default does not come back or is out of range");
        if let Value::Number(_) = parameter.value {
            let doc = parameter.doc.to_lowercase();
            let range = format!("{}–{}", parameter.knob.min, parameter.knob.max);
            assert!(!doc.contains(&range) && !doc.contains("default"), "{path}: its prose repeats a default or range");
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
