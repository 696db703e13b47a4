"""Reads the output of `thalweg build` with third-party readers and compares it with the raw heights.

Run by tests/cli.rs: readers.py FOLDER WEST NORTH CELL SQUARE. The map in FOLDER is georeferenced. That in SQUARE is not; it has 48 × 40
cells of 30 m, without data in the first 5 × 6, and was saved as a square for Unity.
"""
import csv
import json
import os
import sys

import numpy
import OpenImageIO
import rasterio
import tifffile
from PIL import Image
from rasterio.features import rasterize

folder, west, north, cell, square = sys.argv[1], *map(float, sys.argv[2:5]), sys.argv[5]
sidecar = json.load(open(f"{folder}/height.json"))
width, height = sidecar["width"], sidecar["height"]
low, high = sidecar["min_m"], sidecar["max_m"]
raw = numpy.fromfile(f"{folder}/height.r32", "<f4").reshape(height, width)
assert abs(raw.min() - low) < 1e-3 and abs(raw.max() - high) < 1e-3

image = numpy.array(Image.open(f"{folder}/height.png")).astype("f8")
assert image.min() == 0 and image.max() == 65535
assert numpy.abs(low + image / 65535 * (high - low) - raw).max() < (high - low) / 65535
eight = numpy.array(Image.open(f"{folder}/height-8bit.png"))
assert eight.dtype == "uint8" and numpy.abs(low + eight / 255.0 * (high - low) - raw).max() < (high - low) / 255
sixteen = numpy.fromfile(f"{folder}/height.r16", "<u2").reshape(height, width)
assert numpy.abs(low + sixteen / 65535.0 * (high - low) - raw).max() < (high - low) / 65535

assert (tifffile.imread(f"{folder}/height.tif") == raw).all()
exr = OpenImageIO.ImageInput.open(f"{folder}/height.exr")
assert exr.spec().channelnames == ("Y",) and (exr.read_image(OpenImageIO.FLOAT)[..., 0] == raw).all()
if os.path.exists(f"{folder}/view.exr"):
    exr = OpenImageIO.ImageInput.open(f"{folder}/view.exr")
    assert exr.spec().channelnames == ("R", "G", "B") and exr.spec().format == OpenImageIO.HALF
    light = exr.read_image(OpenImageIO.FLOAT)
    seen = numpy.array(Image.open(f"{folder}/view.png")).astype("f8") / 255
    assert light.shape == seen.shape == (100, 160, 3) and light.max() > light.min()
    shown = numpy.clip(light, 0, 1)
    shown = numpy.where(shown < 0.0031308, 12.92 * shown, 1.055 * shown ** (1 / 2.4) - 0.055)
    far = (numpy.abs(shown - seen) > 2.5 / 255).any(axis=2).mean()
    assert far < 0.01, far
for name in ("height.tif", "height.asc"):
    with rasterio.open(f"{folder}/{name}") as grid:
        assert (grid.width, grid.height) == (width, height)
        assert numpy.abs(grid.read(1) - raw).max() <= 1e-4, name
        found = (grid.transform.c, grid.transform.f, grid.transform.a, -grid.transform.e)
        wanted = (west, north, cell, cell)
        assert all(abs(a - b) < 1e-9 * max(1, abs(b)) for a, b in zip(found, wanted)), (name, found, wanted)
with rasterio.open(f"{folder}/height.tif") as grid:
    assert grid.crs is not None and grid.crs.to_epsg() == 4326, grid.crs

normal = numpy.array(Image.open(f"{folder}/normal.png")).astype("f8") / 255 * 2 - 1
assert normal.shape == (height, width, 3)
assert numpy.abs((normal**2).sum(axis=2) - 1).max() < 0.03 and normal[..., 2].min() > 0
sidecar_cell = sidecar["cell_size_m"]
inner = (raw[1:-1, 2:] - raw[1:-1, :-2]) / (2 * sidecar_cell)
tilt = -normal[1:-1, 1:-1, 0] / normal[1:-1, 1:-1, 2]
assert numpy.median(numpy.abs(tilt - inner)) < 0.02
assert numpy.array(Image.open(f"{folder}/color.png")).shape == (height, width, 3)
slope = numpy.fromfile(f"{folder}/slope.r32", "<f4").reshape(height, width)
down = (raw[2:, 1:-1] - raw[:-2, 1:-1]) / (2 * sidecar_cell)
assert numpy.abs(numpy.degrees(numpy.arctan(numpy.hypot(inner, down))) - slope[1:-1, 1:-1]).max() < 0.01
# A flow map has unit vectors. It is compared with the rivers below rather than with the slope: on this sawtooth terrain the central
# difference of the slope is not the flow direction.
moves = numpy.array(Image.open(f"{folder}/flow-map.png")).astype("f8") / 255
assert moves.shape == (height, width, 3) and moves[..., 2].max() == 1
to_right, to_lower = 2 * moves[..., 0] - 1, 1 - 2 * moves[..., 1]
assert numpy.median(numpy.abs(numpy.hypot(to_right, to_lower)[1:-1, 1:-1] - 1)) < 0.02
# Rivers rasterized to the map's grid are where much water flows.
rivers = [feature["geometry"] for feature in json.load(open(f"{folder}/rivers.geojson"))["features"]]
with rasterio.open(f"{folder}/height.tif") as grid:
    drawn = rasterize(rivers, out_shape=(height, width), transform=grid.transform, all_touched=True)
flow = numpy.exp(numpy.fromfile(f"{folder}/flow.r32", "<f4").reshape(height, width))
# Smoothed lines may miss the corner of a cell, and the flow map is not routed through depressions, unlike the rivers.
padded = numpy.pad(drawn, 1)
beside = numpy.max([padded[y : y + height, x : x + width] for y in range(3) for x in range(3)], axis=0)
found = (len(rivers), (flow > 9).sum(), drawn[flow > 9].mean(), beside[flow > 9].mean(), drawn[flow < 3].mean())
assert found[0] > 3 and found[1] > 20 and found[2] > 0.75 and found[3] > 0.85 and found[4] < 0.15, found
rows = list(csv.DictReader(open(f"{folder}/rivers.csv", newline="")))
places = [place for river in rivers for place in river["coordinates"]]
assert len(rows) == len(places)
for row, place in zip(rows, places):
    wanted = (west + float(row["x_m"]) / sidecar_cell * cell, north - float(row["y_m"]) / sidecar_cell * cell, float(row["height_m"]))
    assert all(abs(a - b) < limit for a, b, limit in zip(place, wanted, (cell / 100, cell / 100, 1e-3))), (place, wanted)
    assert float(row["width_m"]) > 0 and row["lake"] in ("true", "false")
# The rivers follow the flow map: with mirrored axes or wrong signs, the mean cosine is below 0.6.
cosines = []
for here, there in zip(rows, rows[1:]):
    if here["reach"] == there["reach"]:
        (x, y), (next_x, next_y) = ([float(row[axis]) / sidecar_cell for axis in ("x_m", "y_m")] for row in (here, there))
        place = min(int((y + next_y) / 2), height - 1), min(int((x + next_x) / 2), width - 1)
        way = numpy.array([next_x - x, next_y - y])
        cosines.append(way @ [to_right[place], to_lower[place]] / numpy.linalg.norm(way))
assert len(cosines) > 100 and numpy.mean(cosines) > 0.85, (len(cosines), numpy.mean(cosines))

for name in ("height", "discharge"):
    raw = numpy.fromfile(f"{square}/{name}.r32", "<f4").reshape(65, 65)
    sidecar = json.load(open(f"{square}/{name}.json"))
    assert (sidecar["map_width"], sidecar["map_height"]) == (65, 54), sidecar
    middles = (numpy.arange(65) + 0.5) * 48 / 65
    hole = (middles[:, None] < 6) & (middles[None, :] < 5) | (middles[:, None] > 40)
    for ending in ("tif", "asc"):
        with rasterio.open(f"{square}/{name}.{ending}") as grid:
            found = (grid.transform.a, -grid.transform.e, grid.bounds.left, grid.bounds.bottom)
            wanted = (48 * 30 / 65, 48 * 30 / 65, 0, 0)
            assert all(abs(a - b) < 1e-4 for a, b in zip(found, wanted)), (name, ending, found)
            assert grid.nodata == -9999 and (grid.read_masks(1) == 0).tolist() == hole.tolist(), (name, ending)
            assert numpy.abs(grid.read(1) - raw)[~hole].max() <= 1e-4, (name, ending)
            assert ending == "asc" or 'LOCAL_CS' in grid.crs.to_wkt() and 'UNIT["metre",1' in grid.crs.to_wkt(), grid.crs
    if name == "discharge":
        assert raw[:54].max() > 0 and (raw[54:] == 0).all()
    else:
        assert numpy.abs(raw[54:] - raw[53]).max() < 5
print("all was read")
