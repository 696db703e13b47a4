use super::*;

#[derive(Reflect, Clone, Default, PartialEq, Debug)]
enum Kind {
    #[default]
    Plain,
    VeryFancy,
}

/// Group of parameters for these tests.
#[derive(Reflect, Clone, PartialEq, Debug)]
struct Sample {
    /// Speed.
    #[reflect(@knob(0.1..=5.0).unit("m/s"))]
    speed: f32,
    /// Count.
    #[reflect(@knob(1.0..=10.0))]
    count: u32,
    /// Kind.
    #[reflect(@choice())]
    kind: Kind,
    /// Switch.
    #[reflect(@choice())]
    on: bool,
    /// Colour.
    #[reflect(@knob(0.0..=1.0))]
    tint: [f32; 3],
}

fn sample() -> Sample {
    Sample { speed: 0.1, count: 2, kind: Kind::Plain, on: false, tint: [0.0; 3] }
}

#[test]
fn every_value_type_parses_from_text() {
    let mut group = sample();
    for (path, text) in
        [("s.speed", "2.5"), ("s.count", "7"), ("s.kind", "very-fancy"), ("s.on", "true"), ("s.tint", "0.1, 0.2,0.3")]
    {
        set(&mut [("s", &mut group)], path, text).unwrap_or_else(|error| panic!("{error}"));
    }
    assert_eq!(group, Sample { speed: 2.5, count: 7, kind: Kind::VeryFancy, on: true, tint: [0.1, 0.2, 0.3] });
}

#[test]
fn invalid_values_are_rejected_with_helpful_errors() {
    let mut group = sample();
    let cases = [
        ("s.sped", "1", "there is no parameter \"s.sped\"; the closest match is \"s.speed\""),
        ("s.speed", "9", "s.speed cannot be 9; expected 0.1 to 5 m/s"),
        ("s.speed", "NaN", "s.speed cannot be \"NaN\"; expected a number"),
        ("s.count", "2.5", "s.count cannot be \"2.5\"; expected a whole number"),
        ("s.kind", "fancy", "s.kind cannot be \"fancy\"; expected one of plain, very-fancy"),
        ("s.tint", "1,2", "s.tint cannot be \"1,2\"; expected three comma-separated numbers: red, green, blue"),
    ];
    for (path, text, sentence) in cases {
        let error = set(&mut [("s", &mut group)], path, text).expect_err(path);
        assert_eq!(error.to_string(), sentence);
    }
    assert_eq!(group, sample());
}

#[test]
fn wind_alias_names_origin_and_rain_alias_is_hourly() {
    let metric = |unit| (unit, 1.0);
    for (to, from) in [
        (0.0, "W, 270°"),
        (90.0, "N, 0°"),
        (180.0, "E, 90°"),
        (270.0, "S, 180°"),
        (360.0, "W, 270°"),
        (45.0, "NW, 315°"),
    ] {
        assert_eq!(DisplayAlias::Wind.format_alias(to, metric), Some(format!("from {from}")));
    }
    assert_eq!(DisplayAlias::Wind.format_alias(89.9, metric), Some("from N, 0°".to_owned()));
    assert_eq!(DisplayAlias::Rain.format_alias(0.002, metric).as_deref(), Some("7200 mm/h"));
    assert_eq!(DisplayAlias::Rain.format_alias(1e-6, metric).as_deref(), Some("3.6 mm/h"));
    let inches = |unit| if unit == "mm/h" { ("in/h", 1.0 / 25.4) } else { (unit, 1.0) };
    assert_eq!(DisplayAlias::Rain.format_alias(0.00254, inches).as_deref(), Some("360 in/h"));
    assert_eq!(DisplayAlias::Rain.format_alias(1e-6, inches).as_deref(), Some("0.14 in/h"));
    assert_eq!(DisplayAlias::None.format_alias(1.0, metric), None);
}

#[test]
fn titles_use_sentence_case_and_british_spelling() {
    assert_eq!((&*title("flat_color"), &*title("per_tick")), ("Flat colour", "Per tick"));
}
