//! Alpha: dropped, or composited over an opaque colour with Pillow's integer arithmetic (`AlphaComposite.c`).
//!
//! Over an opaque background b: a = 0 gives b, otherwise
//! t = 128·(c·a + b·(255 − a)) + 16384, out = (((t >> 8) + t) >> 8) >> 7, that is (c·a + b·(255 − a)) / 255 rounded.

/// `color` with `alpha` over `background`; without a background the alpha is dropped.
pub(super) fn over(color: [u8; 3], alpha: u8, background: Option<[u8; 3]>) -> [u8; 3] {
    match background {
        None => color,
        Some(background) if alpha == 0 => background,
        Some(background) => std::array::from_fn(|c| composite(color[c], alpha, background[c])),
    }
}

fn composite(color: u8, alpha: u8, background: u8) -> u8 {
    let (color, alpha, background) = (u32::from(color), u32::from(alpha), u32::from(background));
    let t = 128 * (color * alpha + background * (255 - alpha)) + 16384;
    // At most 255: t is at most 128·255·255 + 16384.
    ((((t >> 8) + t) >> 8) >> 7) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compositing_rounds_to_nearest() {
        for (color, alpha, background) in
            [(10, 0, 200), (10, 255, 200), (0, 128, 255), (255, 1, 0), (77, 99, 31)]
        {
            let exact = (f64::from(color) * f64::from(alpha)
                + f64::from(background) * f64::from(255 - alpha))
                / 255.0;
            let got = over([color; 3], alpha, Some([background; 3]));
            assert_eq!(got, [exact.round() as u8; 3], "{color} {alpha} {background}");
        }
        assert_eq!(over([255, 0, 0], 0, None), [255, 0, 0], "hidden colour kept");
    }
}
