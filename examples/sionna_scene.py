"""Ray-trace the links between devices in a scene of Sionna RT, for `path_loss.kind = "sionna_rt"`.

    pip install sionna-rt
    python examples/sionna_scene.py --scene simple_street_canyon --nodes 8 --out canyon

writes `canyon.npz` (paths of every pair, as `Paths.cir()` gives them) and `canyon_nodes.toml` (the
devices' places, for the scenario's [nodes]). It needs Sionna RT 2.x (run with 2.2.0), and on a
machine without an NVIDIA GPU the library libLLVM, with which Dr.Jit compiles: a recent one, named
by DRJIT_LIBLLVM_PATH (those of LLVM 14 and 15 end with "Cannot select: fmaximum", 22 works). netsim
itself needs neither.

Devices stand in the open, 1.5 m above ground, at places drawn by the seed within `--radius` of the
scene's centre; they walk at `--speed` in directions drawn likewise. `--times` samples, `--interval`
apart, follow the phases of the paths as devices walk by the Doppler shifts of the paths, while the
paths themselves stay: right over some wavelengths, no farther.
"""

import argparse
from pathlib import Path

import numpy as np

HEIGHT_M = 1.5
CLEAR_M = 50.0
"""So much above a device must be open sky, or it stands inside of a building."""


def main() -> None:
    """Trace, and write both files."""
    args = _arguments()
    import sionna.rt as rt  # here: --help needs no ray tracer

    scene = rt.load_scene(getattr(rt.scene, args.scene), merge_shapes=False)
    scene.frequency = args.carrier_hz
    scene.tx_array = scene.rx_array = rt.PlanarArray(
        num_rows=1, num_cols=1, pattern="iso", polarization="V"
    )
    rng = np.random.default_rng(args.seed)
    places = _in_the_open(scene, args.nodes, args.radius, rng)
    for node, place in enumerate(places):
        heading = rng.uniform(0.0, 2.0 * np.pi)
        walk = args.speed * np.array([np.cos(heading), np.sin(heading), 0.0])
        at = [float(v) for v in place]
        velocity = [float(v) for v in walk]
        scene.add(rt.Transmitter(f"tx{node}", position=at, velocity=velocity))
        scene.add(rt.Receiver(f"rx{node}", position=at, velocity=velocity))
    paths = rt.PathSolver()(
        scene,
        max_depth=args.depth,
        los=True,
        specular_reflection=True,
        diffuse_reflection=False,
        refraction=False,
        synthetic_array=True,
        seed=args.seed + 1,
    )
    a, tau = paths.cir(
        sampling_frequency=1.0 / args.interval,
        num_time_steps=args.times,
        normalize_delays=False,
        out_type="numpy",
    )
    a, tau = a[:, 0, :, 0], (tau if tau.ndim == 3 else tau[:, 0, :, 0])
    own = np.arange(args.nodes)
    a[own, own] = 0.0  # a device does not hear itself
    strongest = np.argsort(-np.abs(a).max(axis=3), axis=2)[:, :, : args.paths]
    a = np.take_along_axis(a, strongest[..., None], axis=2)
    tau = np.take_along_axis(tau, strongest, axis=2)
    tau[np.abs(a).max(axis=3) == 0.0] = 0.0
    np.savez_compressed(
        f"{args.out}.npz",
        a=a.astype(np.complex64),
        tau=tau.astype(np.float32),
        t_s=args.interval * np.arange(args.times),
        carrier_hz=np.array(args.carrier_hz),
        positions_m=places,
        outline_m=_outlines(scene),
    )
    rows = "\n".join(f"    [{x:.2f}, {y:.2f}]," for x, y, _ in places)
    Path(f"{args.out}_nodes.toml").write_text(
        f'[nodes]\ncount = {args.nodes}\nplacement = "given"\npositions_m = [\n{rows}\n]\n',
        encoding="utf-8",
    )
    power = (np.abs(a) ** 2).sum(axis=2)[..., 0]
    heard = power[power > 0.0]
    print(
        f"{len(heard)} of {args.nodes * (args.nodes - 1)} directed pairs have a path; gains "
        f"{10 * np.log10(heard.min()):.1f} to {10 * np.log10(heard.max()):.1f} dB"
    )


def _in_the_open(scene, count: int, radius_m: float, rng: np.random.Generator) -> np.ndarray:
    """Places in a disc that have nothing but sky above them: (count, 3) in m."""
    import mitsuba as mi

    found: list[list[float]] = []
    for _ in range(1000 * count):
        r, angle = radius_m * np.sqrt(rng.uniform()), rng.uniform(0.0, 2.0 * np.pi)
        x, y = float(r * np.cos(angle)), float(r * np.sin(angle))
        up = mi.Ray3f(mi.Point3f(x, y, HEIGHT_M), mi.Vector3f(0.0, 0.0, 1.0))
        down = mi.Ray3f(mi.Point3f(x, y, HEIGHT_M), mi.Vector3f(0.0, 0.0, -1.0))
        roof = bool(np.any(np.array(scene.mi_scene.ray_test(up))))
        ground = scene.mi_scene.ray_intersect(down)
        drop = float(np.array(ground.t).ravel()[0])
        if not roof and drop <= 2.0 * HEIGHT_M:
            found.append([x, y, HEIGHT_M])
        if len(found) == count:
            return np.array(found)
    raise SystemExit(f"only {len(found)} of {count} places within {radius_m:g} m are in the open")


def _outlines(scene) -> np.ndarray:
    """Footprints of what stands in the scene, seen from above: (points, 2), NaN between them."""
    from scipy.spatial import ConvexHull

    found = []
    for thing in scene.objects.values():
        points = np.array(thing.mi_mesh.vertex_positions_buffer()).reshape(-1, 3)
        flat = np.unique(points[:, :2].round(2), axis=0)
        if np.ptp(points[:, 2]) < 2.0 * HEIGHT_M or len(flat) < 3:
            continue  # the ground, a kerb
        corners = flat[ConvexHull(flat).vertices]
        found += [*corners, corners[0], [np.nan, np.nan]]
    return np.array(found, dtype=np.float32).reshape(-1, 2)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scene", default="simple_street_canyon", help="of sionna.rt.scene")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--radius", type=float, default=45.0, help="[m]")
    parser.add_argument("--carrier-hz", type=float, default=3.5e9)
    parser.add_argument("--depth", type=int, default=3, help="interactions of a path")
    parser.add_argument("--paths", type=int, default=20, help="strongest ones kept of a pair")
    parser.add_argument("--speed", type=float, default=1.5, help="of the devices [m/s]")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--interval", type=float, default=0.005, help="between times [s]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="scene", help="names of the files, without ending")
    return parser.parse_args()


if __name__ == "__main__":
    main()
