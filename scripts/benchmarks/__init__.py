"""How fast the daemon is, as ratios within one run: `scripts/bench [--quick] [NAME…]`. Linux only (/proc)."""
