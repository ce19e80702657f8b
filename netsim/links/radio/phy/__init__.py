"""The physical layer: link budget, fading, SNR, background interference, reach."""
