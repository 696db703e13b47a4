"""Imports exported heights as other programs do, with the settings in the report, and finds the peak.

Run by engines.rs: engines.py FOLDER. `cases.json` has the cases (folder and preset), the position of the peak in metres from the upper left
corner of the map, and the smallest and largest height. Each formula is that of the program: the source of its import, or its manual.
"""
import json
import os
import sys

import numpy
import OpenImageIO
import rasterio
from PIL import Image

os.chdir(sys.argv[1])
expected = json.load(open("cases.json"))
failures = []


def png(file):
    values = numpy.asarray(Image.open(file)).astype("f8")
    assert values.max() > 255, f"{file} has 8 bits"
    return values


def exr(file):
    image = OpenImageIO.ImageInput.open(file)
    spec, values = image.spec(), image.read_image("float").astype("f8")
    values = values.reshape(spec.height, spec.width, -1)[..., 0]
    image.close()
    return values


def tiles_of(report):
    """Yields for each file: name, column and row of the tile from the upper left, and its first column and row of cells."""
    tiles = report["tiles"] or {"columns": 1, "rows": 1, "overlap": 0}
    steps = [side - tiles["overlap"] for side in report["size"]]
    for index, file in enumerate(report["heights"]):
        x, y = index % tiles["columns"], index // tiles["columns"]
        yield file, x, y, x * steps[0], y * steps[1]


# For each program: heights in metres, and positions in metres from the upper left corner of the map, of one file. The first value of a
# vertex grid is at the centre of the corner cell.
def unreal(file, report, first, _):
    """Landscape: (value - 32768) / 128 × Z scale centimetres, vertices X and Y scale apart."""
    values, numbers = png(file), report["settings"]
    heights = (values - 32768) / 128 * numbers["z_scale"] + numbers["z_location_cm"]
    spacing = numbers["xy_scale"] / 100
    assert values.shape[0] in (127, 253, 505, 1009, 2017, 4033, 8129), values.shape
    place = lambda row, column: [(first[axis] + index) * spacing + report["cell_size_m"] / 2 for axis, index in enumerate((column, row))]
    return heights / 100, place, values


def unity(file, report, first, rows):
    """TerrainWizards.cs, ImportRawHeightmap: little-endian 16 bits / 2^16; row 0 is at z = 0, the south."""
    numbers = report["settings"]
    side = int(numbers["heightmap_resolution"])
    values = numpy.fromfile(file, "<u2").reshape(side, side)
    assert side - 1 & side - 2 == 0, side
    heights = values.astype("f8") / (1 << 16) * numbers["terrain_height"] + numbers["position_y"]
    cell = report["cell_size_m"]

    def place(row, column):
        x = column / (side - 1) * numbers["terrain_width"] + first[0] * cell
        south = (rows - first[1] - side) * cell
        z = row / (side - 1) * numbers["terrain_length"] + south
        return x + cell / 2, rows * cell - (z + cell / 2)
    return heights, place, values[::-1]


def godot(file, report, first, _):
    """HeightMapShape3D: vertices one unit apart, centred, scaled by the node; heights × scale + offset."""
    values, numbers = exr(file), report["settings"]
    heights = values * numbers["height_scale"] + numbers["height_offset"]
    width, depth = numbers["map_width"], numbers["map_depth"]
    assert values.shape == (depth, width)
    spacing = numbers["vertex_spacing"]

    def place(row, column):
        x, z = (column - (width - 1) / 2) * spacing, (row - (depth - 1) / 2) * spacing
        return x + (first[0] + width / 2) * spacing, z + (first[1] + depth / 2) * spacing
    return heights, place, values


def blender(file, report, first, _):
    """Displace modifier: (value - mid-level) × strength; pixels are areas of the texture, v points up."""
    values, numbers = exr(file), report["settings"]
    heights = (values - numbers["displacement_midlevel"]) * numbers["displacement_strength"]
    depth, width = values.shape
    size = numbers["plane_x"], numbers["plane_y"]

    def place(row, column):
        u, v = (column + 0.5) / width, 1 - (row + 0.5) / depth
        x, y = (u - 0.5) * size[0], (v - 0.5) * size[1]
        return x + size[0] / 2 + first[0] * size[0] / width, size[1] / 2 - y + first[1] * size[1] / depth
    return heights, place, values


def houdini(file, report, first, _):
    """HeightField File: voxels at the grid spacing, centred on the origin; value × height scale."""
    values, numbers = exr(file), report["settings"]
    heights = values * numbers["height_scale"]
    spacing = numbers["grid_spacing"]
    depth, width = values.shape
    assert abs(width * spacing - numbers["size_x"]) < 1e-3 and abs(depth * spacing - numbers["size_z"]) < 1e-3

    def place(row, column):
        x, z = (column + 0.5) * spacing - numbers["size_x"] / 2, (row + 0.5) * spacing - numbers["size_z"] / 2
        return x + numbers["size_x"] / 2 + first[0] * spacing, z + numbers["size_z"] / 2 + first[1] * spacing
    return heights, place, values


def gis(file, report, first, rows):
    """Geotransform of GDAL at the centre of a pixel; the lower left corner of the map is at 0, 0."""
    with rasterio.open(file) as source:
        values, transform = source.read(1).astype("f8"), source.transform
        heights = numpy.where(values == source.nodata, -numpy.inf, values) if source.nodata is not None else values
    assert abs(transform.a - report["settings"]["pixel_size"]) < 1e-6

    def place(row, column):
        x, y = transform * (column + 0.5, row + 0.5)
        return x, rows * report["cell_size_m"] - y
    return heights, place, values


def judged(folder, program):
    report = json.load(open(f"{folder}/files.json"))["import"]
    numbers = report["tiles"]
    rows = numbers["size"][1] if numbers else report["size"][1]
    best, codes, low = (-numpy.inf, None), {}, numpy.inf
    for file, x, y, *first in tiles_of(report):
        heights, place, values = globals()[program](f"{folder}/{file}", report, first, rows)
        codes[x, y] = values
        low = min(low, heights[numpy.isfinite(heights)].min())
        row, column = numpy.unravel_index(numpy.argmax(heights), heights.shape)
        if heights[row, column] > best[0]:
            best = heights[row, column], place(row, column)
    for (x, y), values in codes.items():
        for other, mine, theirs in (((x + 1, y), values[:, -1:], lambda v: v[:, :1]), ((x, y + 1), values[-1:], lambda v: v[:1])):
            if other in codes and not numpy.array_equal(mine, theirs(codes[other])):
                failures.append(f"{folder}: {x}, {y} and {other} differ where they overlap")
    height, found = best
    away = [abs(a - b) for a, b in zip(found, expected["place"])]
    step = (expected["max"] - expected["min"]) / 65535
    # Resampled maps have no cell centre on the peak: they miss it by up to half a cell, and by some height on its cone.
    resampled = abs(report["cell_size_m"] - expected["cell"]) > 1e-3
    reach, tolerance = (0.51 * expected["cell"], 25.0) if resampled else (1e-2, step)
    text = f"{folder}: peak of {height:.3f} m at {found[0]:.2f}, {found[1]:.2f}; expected {expected['max']:.3f} m at {expected['place']}"
    print(text)
    if max(away) > reach or abs(height - expected["max"]) > tolerance or abs(low - expected["min"]) > (tolerance if resampled else step):
        failures.append(f"{text}; smallest {low:.3f}, expected {expected['min']:.3f}")


for case in expected["cases"]:
    judged(case["folder"], case["program"])
if failures:
    sys.exit("\n".join(failures))
