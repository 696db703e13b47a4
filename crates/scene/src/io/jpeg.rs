//! Completeness of JPEG images: decoders fill the missing rows of a truncated one.

/// Returns `true` if an image has its end marker (ITU-T T.81, annex B).
pub(super) fn is_complete(mut bytes: impl Iterator<Item = u8>) -> bool {
    if [bytes.next(), bytes.next()] != [Some(0xff), Some(0xd8)] {
        return false;
    }
    let mut is_marker = false;
    while let Some(byte) = bytes.next() {
        match byte {
            0xff => is_marker = true,
            0xd9 if is_marker => return true,
            // Zero bytes in compressed data, and markers without a segment.
            0 | 1 | 0xd0..=0xd8 => is_marker = false,
            _ if is_marker => {
                let (Some(high), Some(low)) = (bytes.next(), bytes.next()) else { return false };
                let length = usize::from(u16::from_be_bytes([high, low])).saturating_sub(2);
                if length > 0 && bytes.nth(length - 1).is_none() {
                    return false;
                }
                is_marker = false;
            }
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_marker_inside_a_segment_is_not_the_end() {
        // A comment that contains an end marker, a scan with a stuffed byte and a restart marker, then the end.
        let image = [
            0xff, 0xd8, 0xff, 0xfe, 0, 4, 0xff, 0xd9, 0xff, 0xda, 0, 3, 7, 1, 0xff, 0, 0xd9, 0xff, 0xd3, 5, 0xff, 0xff,
            0xd9,
        ];
        for length in 0..=image.len() {
            assert_eq!(is_complete(image[..length].iter().copied()), length == image.len(), "{length}");
        }
    }
}
