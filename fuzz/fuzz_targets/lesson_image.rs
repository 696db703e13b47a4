#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| drop(thalweg_fuzz::lesson_image(bytes)));
