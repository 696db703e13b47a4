"""Writes heightmaps as other programs do, and beside each what GDAL, tifffile, OpenImageIO or this script read from it.

Run by formats.rs: formats.py FOLDER. `index.json` lists for each file: name, options, cell size in metres, EPSG code, geotransform, and the
stem of `.want` (heights in metres, float64, row by row from the north) and `.void` (bytes, 1 where there are no data).
"""
import json
import math
import os
import sys
import warnings

import numpy
import OpenImageIO
import rasterio
import tifffile
from PIL import Image
from rasterio.control import GroundControlPoint
from rasterio.crs import CRS
from rasterio.transform import Affine

warnings.filterwarnings("ignore")
folder = sys.argv[1]
os.chdir(folder)
WIDTH, HEIGHT = 64, 48
X, Y = numpy.meshgrid(numpy.arange(WIDTH), numpy.arange(HEIGHT))
HILLS = 450 + 250 * numpy.sin(X * 0.11) + 80 * numpy.cos(Y * 0.17)
METRES = numpy.round(HILLS)
HOLE = (X > 20) & (X < 30) & (Y > 10) & (Y < 17)
NONE = numpy.zeros_like(HOLE)
PLACE = Affine(30, 0, 500010, 0, -30, 4100020)
cases = []


def expect(file, heights, void=NONE, options=(), cell=None, epsg=None, transform=None, near=1e-3):
    """States what a file holds."""
    stem = f"case-{len(cases)}"
    numpy.asarray(heights, "<f8").tofile(f"{stem}.want")
    numpy.asarray(void, "u1").tofile(f"{stem}.void")
    row = {"file": file, "stem": stem, "options": list(options), "size": list(heights.shape[::-1]), "near": near}
    row.update(cell_size=cell, epsg=epsg, transform=list(transform)[:6] if transform else None)
    cases.append(row)


def write(file, data, driver="GTiff", tags=None, nodata=None, crs="EPSG:32612", transform=PLACE, scale=None, offset=None, unit=None,
          mask=None, gcps=None, band_tags=None, colours=None, **profile):
    """Writes bands with GDAL."""
    data = data if data.ndim == 3 else data[None]
    profile = {key: value for key, value in profile.items() if value is not None}
    if gcps is None and transform is not None:
        profile["transform"] = transform
    if crs is not None and gcps is None:
        profile["crs"] = crs
    with rasterio.open(file, "w", driver=driver, width=data.shape[2], height=data.shape[1], count=data.shape[0], dtype=data.dtype,
                       nodata=nodata, **profile) as out:
        if gcps is not None:
            out.gcps = (gcps, CRS.from_user_input(crs))
        out.write(data)
        if scale is not None:
            out.scales = [scale] * data.shape[0]
        if offset is not None:
            out.offsets = [offset] * data.shape[0]
        if unit is not None:
            out.units = [unit] * data.shape[0]
        if mask is not None:
            out.write_mask(mask)
        if tags:
            out.update_tags(**tags)
        if colours:
            out.colorinterp = colours
    return file


def holes(dtype, value):
    return numpy.where(HOLE, value, METRES).astype(dtype)


# Types, bit depths, layouts and compressions of TIFF.
for dtype in ("uint8", "int16", "uint16", "int32", "uint32", "float32", "float64", "int8", "uint64", "int64"):
    try:
        data = (METRES / 4 if dtype in ("uint8", "int8") else METRES).astype("int64").astype(dtype)
        if dtype == "int8":
            data = (METRES / 8).astype("int8")
        expect(write(f"type-{dtype}.tif", data), data, cell=30, epsg=32612, transform=PLACE)
    except (TypeError, ValueError, KeyError, rasterio.errors.RasterioError) as error:
        print("not written by this GDAL:", dtype, error)
for base, depths in (("uint8", range(1, 8)), ("uint16", range(9, 16)), ("uint32", range(17, 32))):
    for bits in depths:
        data = (METRES.astype("uint64") % (1 << min(bits, 10))).astype(base)
        file = write(f"bits-{bits}.tif", data, nbits=bits)
        expect(file, data)
half = HILLS.astype("float16").astype("float32")
expect(write("bits-float16.tif", half, nbits=16), half)
FLOATS = HILLS.astype("float32")
for method in ("deflate", "lzw", "packbits", "zstd", "lzma", "lerc", "lerc_deflate", "lerc_zstd"):
    for tiled in (False, True):
        for predictor in (1, 2, 3):
            for dtype in ("uint8", "uint16", "int32", "float32", "float64"):
                if predictor > 1 and method in ("packbits", "lzma", "lerc", "lerc_deflate", "lerc_zstd"):
                    continue
                if predictor == 3 and not dtype.startswith("float") or predictor == 2 and dtype == "float64":
                    continue
                data = (METRES / 4 if dtype == "uint8" else HILLS if dtype.startswith("f") else METRES).astype(dtype)
                name = f"layout-{method}-{'tiles' if tiled else 'strips'}-{predictor}-{dtype}.tif"
                blocks = {"tiled": True, "blockxsize": 32, "blockysize": 16} if tiled else {"blockysize": 7}
                options = {} if predictor == 1 else {"predictor": predictor}
                try:
                    write(name, data, compress=method, **blocks, **options)
                except rasterio.errors.RasterioError as error:
                    print("not written by this GDAL:", name, error)
                    continue
                expect(name, data)
for interleave in ("pixel", "band"):
    data = numpy.stack([FLOATS, FLOATS + 1000, FLOATS + 2000])
    name = write(f"bands-{interleave}.tif", data, interleave=interleave, compress="deflate", tiled=True, blockxsize=16, blockysize=16)
    expect(name, FLOATS)
    expect(name, FLOATS + 2000, options=["channel=3"])
grey = (METRES / 4).astype("uint8")
for photometric in ("rgb", "ycbcr"):
    options = {"compress": "jpeg", "jpeg_quality": 100} if photometric == "ycbcr" else {}
    expect(write(f"colours-{photometric}.tif", numpy.stack([grey] * 3), photometric=photometric, **options), grey, near=4)
for photometric in ("rgb", "minisblack"):
    # Without a conversion, each sample is stored as it is.
    expect(write(f"jpeg-{photometric}.tif", numpy.stack([grey] * 3), photometric=photometric, compress="jpeg", jpeg_quality=100), grey, near=4)
Image.fromarray(numpy.dstack([grey] * 3)).save("jpeg-pillow.tif", compression="jpeg", quality=100)
expect("jpeg-pillow.tif", grey, near=4)
expect(write("jpeg.tif", grey, compress="jpeg", jpeg_quality=100), grey, near=4)
for order in ("little", "big"):
    for bigtiff in ("YES", "NO"):
        expect(write(f"order-{order}-{bigtiff}.tif", FLOATS, endianness=order, bigtiff=bigtiff, compress="lzw"), FLOATS)
        tifffile.imwrite(f"tifffile-{order}-{bigtiff}.tif", FLOATS, byteorder="<" if order == "little" else ">", bigtiff=bigtiff == "YES")
        expect(f"tifffile-{order}-{bigtiff}.tif", FLOATS)
for method in ("lerc", "lerc_zstd"):
    # Of floats, GDAL encodes those that are NaN with reversed bytes as missing.
    for dtype in ("uint8", "int16", "uint16", "int32"):
        data = (METRES / 4 if dtype == "uint8" else METRES).astype(dtype)
        name = f"order-big-{method}-{dtype}.tif"
        expect(write(name, data, compress=method, endianness="big", tiled=True, blockxsize=32, blockysize=16), data)
for photometric in ("miniswhite", "minisblack"):
    tifffile.imwrite(f"tifffile-{photometric}.tif", METRES.astype("uint16"), photometric=photometric, tile=(16, 16))
    expect(f"tifffile-{photometric}.tif", METRES)
with rasterio.open("sparse.tif", "w", driver="GTiff", width=WIDTH, height=HEIGHT, count=1, dtype="int16", nodata=-32768, sparse_ok=True,
                   tiled=True, blockxsize=16, blockysize=16, crs="EPSG:32612", transform=PLACE) as out:
    out.write(METRES[:16, :32].astype("int16")[None], window=((0, 16), (0, 32)))
expect("sparse.tif", METRES, (X >= 32) | (Y >= 16), cell=30)
expect(write("cog.tif", FLOATS, driver="COG", compress="zstd"), FLOATS, cell=30)

# Units, scales and ranges.
FOOT, SURVEY = 0.3048, 1200 / 3937
for unit, metres in (("m", 1), ("metre", 1), ("ft", FOOT), ("foot", FOOT), ("feet", FOOT), ("US survey foot", SURVEY), ("us-ft", SURVEY),
                     ("US survey ft", SURVEY), ("sfeet", SURVEY), ("NAVD88 height (ftUS)", SURVEY),
                     ("feet above mean sea level", FOOT), ("cm", 0.01), ("mm", 0.001), ("dm", 0.1), ("km", 1000)):
    data = (METRES / metres).astype("float64")
    expect(write(f"unit-{unit.replace(' ', '-')}.tif", data, unit=unit), METRES)
for scale, offset, dtype in ((0.1, None, "int16"), (0.01, -100, "uint16"), (0.5, 3, "float32"), (None, 500, "int16"), (-1, 1000, "int16")):
    data = numpy.round((HILLS - (offset or 0)) / (scale or 1)).astype(dtype)
    heights = data * (scale or 1) + (offset or 0)
    expect(write(f"scale-{scale}-{offset}.tif", data, scale=scale, offset=offset), heights)
expect(write("scale-unit-nodata.tif", holes("int16", -9999), scale=0.1, unit="ft", nodata=-9999), METRES * 0.1 * FOOT, HOLE)
for dtype, low, high in (("uint8", 0, 255), ("uint16", 0, 65535), ("int16", -32768, 32767), ("uint32", 0, 2**32 - 1),
                         ("int32", -2**31, 2**31 - 1)):
    share = (HILLS - HILLS.min()) / (HILLS.max() - HILLS.min())
    data = numpy.round(low + share * (high - low)).astype(dtype)
    heights = 100 + (data.astype("f8") - low) / (high - low) * 900
    expect(write(f"range-{dtype}.tif", data), heights, options=["min=100", "max=1000"])
share = ((HILLS - HILLS.min()) / (HILLS.max() - HILLS.min())).astype("float32")
expect(write("range-floats.tif", share), share * 2000.0, options=["max=2000"])

# Cells without data.
for value, dtype in ((-9999, "float32"), (-32768, "int16"), (-3.4028234663852886e38, "float32"), (numpy.nan, "float32"), (0, "uint16"),
                     (65535, "uint16"), (-1.7976931348623157e308, "float64"), (255, "uint8")):
    data = numpy.where(HOLE, value, METRES / 4 if dtype == "uint8" else METRES).astype(dtype)
    name = f"nodata-{dtype}-{abs(value):.3g}.tif"
    expect(write(name, data, nodata=value), METRES // 4 if dtype == "uint8" else METRES, HOLE)
for value in (-9999, -32768, -3.4028234663852886e38, numpy.nan):
    expect(write(f"nodata-unstated-{abs(value):.3g}.tif", holes("float32", value)), METRES, HOLE)
for value, dtype in ((-2147483648, "int32"), (1e20, "float32"), (1e30, "float32"), (1e31, "float64")):
    expect(write(f"nodata-unstated-{dtype}-{value:.3g}.tif", holes(dtype, value)), METRES, HOLE)
for text in ("-3.4e38", "-3.40282e+38", "-3.402823e+38", "-3.40282346638529e+38"):
    tifffile.imwrite(f"nodata-text-{text}.tif", holes("float32", numpy.finfo("f4").min), extratags=[(42113, "s", 0, text, True)])
    expect(f"nodata-text-{text}.tif", METRES, HOLE)
with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=True):
    expect(write("mask-internal.tif", FLOATS, mask=~HOLE, compress="deflate", tiled=True, blockxsize=16, blockysize=16), FLOATS, HOLE)
with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=False):
    expect(write("mask-external.tif", FLOATS, mask=~HOLE), FLOATS, HOLE)
alpha = numpy.stack([METRES, numpy.where(HOLE, 0, 65535)]).astype("uint16")
for interleave in ("pixel", "band"):
    expect(write(f"alpha-{interleave}.tif", alpha, alpha="yes", interleave=interleave), METRES, HOLE)
write("pam.tif", holes("float32", -777), crs=None, transform=None)
open("pam.tif.aux.xml", "w").write("<PAMDataset><SRS>EPSG:32612</SRS><GeoTransform>500010, 30, 0, 4100020, 0, -30</GeoTransform>"
                                   "<PAMRasterBand band=\"1\"><NoDataValue>-777</NoDataValue></PAMRasterBand></PAMDataset>")
expect("pam.tif", METRES, HOLE, cell=30, epsg=32612, transform=PLACE)

# Places and coordinate reference systems.
for code, x, y, cell, metres in ((25832, 600010, 5200020, 30, 30), (2056, 2600010, 1200020, 25, 25), (27700, 300000, 700000, 50, 50),
                                 (3035, 4300000, 3200000, 100, 100), (5070, 0, 1500000, 30, 30), (2264, 1000000, 600000, 100, 30.48006),
                                 (2193, 1500000, 5300000, 8, 8), (3413, 100000, -1500000, 100, None)):
    place = Affine(cell, 0, x, 0, -cell, y)
    expect(write(f"crs-{code}.tif", FLOATS, crs=f"EPSG:{code}", transform=place), FLOATS, cell=metres, epsg=code, transform=place)
for code in (4326, 4258, 4269, 7844):
    place = Affine(1 / 3600, 0, 7.5, 0, -1 / 3600, 46.5)
    side = 111195.08 / 3600 * math.sqrt(math.cos(math.radians(46.5 - HEIGHT / 7200)))
    expect(write(f"crs-{code}.tif", FLOATS, crs=f"EPSG:{code}", transform=place), FLOATS, cell=side, epsg=code, transform=place)
for name, radius in (("moon", 1737400), ("mars", 3396190)):
    place = Affine(1 / 64, 0, 10, 0, -1 / 64, 30)
    side = math.radians(1 / 64) * radius * math.sqrt(math.cos(math.radians(30 - HEIGHT / 128)))
    expect(write(f"crs-{name}.tif", FLOATS, crs=f"+proj=longlat +R={radius}", transform=place), FLOATS, cell=side, transform=place)
place = Affine(30, 0, 1000000, 0, -30, 8399738)
expect(write("crs-3857.tif", FLOATS, crs="EPSG:3857", transform=place), FLOATS, cell=15, epsg=3857, transform=place)
for code in (54009, 54012, 54042, 54052):
    expect(write(f"crs-esri-{code}.tif", FLOATS, crs=f"ESRI:{code}"), FLOATS, cell=30, transform=PLACE)
expect(write("south-up.tif", FLOATS[::-1], transform=Affine(30, 0, 500010, 0, 30, 4100020 - 30 * HEIGHT)), FLOATS, cell=30,
       transform=PLACE)
corners = [GroundControlPoint(row, column, 500010 + 30 * column, 4100020 - 30 * row)
           for row, column in ((0, 0), (0, WIDTH), (HEIGHT, 0), (HEIGHT, WIDTH))]
expect(write("control-points.tif", FLOATS, gcps=corners), FLOATS, cell=30, epsg=32612, transform=PLACE)
for extension in ("tfw", "wld", "Tfw", "TFW"):
    write(f"world-{extension}.tif", FLOATS, crs=None, transform=None)
    open(f"world-{extension}.{extension}", "w").write("30\n0\n0\n-30\n500025\n4100005\n")
    expect(f"world-{extension}.tif", FLOATS, cell=30, transform=PLACE)
os.replace(write("name.tif", FLOATS), "name.geotiff")
expect("name.geotiff", FLOATS, cell=30)

# Other grids of GDAL: with header files, text, and quadrangles.
for dtype in ("uint8", "int16", "uint16", "float32"):
    data = (METRES / 4 if dtype == "uint8" else METRES).astype(dtype)
    expect(write(f"raw-{dtype}.bil", data, driver="EHdr", nodata=None), data, cell=30)
data = METRES.astype("int16")
data.astype(">i2").tofile("N46E007.hgt")
TILE = numpy.round(450 + 250 * numpy.sin(numpy.arange(1201) * 0.01)[None, :] + 80 * numpy.cos(numpy.arange(1201) * 0.02)[:, None])
TILE.astype(">i2").tofile("N46E007.hgt")
expect("N46E007.hgt", TILE, epsg=4326, transform=Affine(1 / 1200, 0, 7 - 1 / 2400, 0, -1 / 1200, 47 + 1 / 2400))
write("text.asc", FLOATS, driver="AAIGrid", decimal_precision=4)
expect("text.asc", FLOATS, cell=30, epsg=32612, transform=PLACE)
for code, datum in ((32612, "WGS84"), (26912, "NAD83"), (26712, "NAD27")):
    write(f"arc-info-{code}.asc", FLOATS, driver="AAIGrid", decimal_precision=4, crs=None)
    open(f"arc-info-{code}.prj", "w").write(f"Projection    UTM\nZone          12\nDatum         {datum}\nUnits         METERS\nParameters\n")
    expect(f"arc-info-{code}.asc", FLOATS, cell=30, epsg=code, transform=PLACE)
for number, word in enumerate(("None", "#N/A", "-", "1e31", "-2147483648")):
    rows = (" ".join(word if hole else f"{height:.0f}" for height, hole in zip(*row)) for row in zip(METRES, HOLE))
    with open(f"word-{number}.asc", "w") as file:
        file.write(f"ncols = {WIDTH}\nnrows={HEIGHT}\nxllcorner 500010\nyllcorner {4100020 - 30 * HEIGHT}\ncellsize = 30\n" + "\n".join(rows))
    expect(f"word-{number}.asc", METRES, HOLE, cell=30, transform=PLACE)
write("surfer-7.grd", FLOATS.astype("f8"), driver="GS7BG")
expect("surfer-7.grd", FLOATS, cell=30, transform=PLACE)
write("surfer-6.grd", FLOATS, driver="GSBG")
expect("surfer-6.grd", FLOATS, cell=30, transform=PLACE)
write("envi.bil", METRES.astype("uint16"), driver="ENVI", interleave="bil")
expect("envi.bil", METRES, cell=30, transform=PLACE)

# Arrays, raw cells and images.
for kind in ("<f4", ">f4", "<f8", "<i2", ">u2", "u1", "<i4", "<f2"):
    data = (METRES / 4 if kind == "u1" else METRES).astype(kind)
    numpy.save(f"array-{kind[-2:]}-{kind[0] == '>'}.npy", data)
    expect(f"array-{kind[-2:]}-{kind[0] == '>'}.npy", data.astype("f8"))
numpy.save("array-columns.npy", numpy.asfortranarray(FLOATS))
expect("array-columns.npy", FLOATS)
for name, data in (("chw", FLOATS[None].repeat(3, 0)), ("hwc", FLOATS[..., None]), ("1hw", FLOATS[None]), ("hw3", FLOATS[..., None].repeat(3, 2))):
    numpy.save(f"array-{name}.npy", data)
    expect(f"array-{name}.npy", FLOATS)
SQUARE = 30000 + 20000 * numpy.sin(numpy.arange(64) * 0.1)[None, :] * numpy.cos(numpy.arange(64) * 0.07)[:, None]
for name, data, full in (("le.r16", SQUARE.astype("<u2"), 65535), ("be.r16", SQUARE.astype(">u2"), 65535), ("r8.r8", (SQUARE / 257).astype("u1"), 255),
                         ("raw.raw", SQUARE.astype("<u2"), 65535), ("rgb.r16", numpy.repeat(SQUARE.astype("<u2")[..., None], 3, 2), 65535)):
    data.tofile(f"raw-{name}")
    heights = (data if data.ndim == 2 else data[..., 0]).astype("f8") / full * 1000
    expect(f"raw-{name}", heights, options=["min=0", "max=1000"])
(SQUARE.astype("<u2") ^ 0x8000).tofile("raw-signed.r16")
expect("raw-signed.r16", SQUARE.astype("u2") / 65535 * 1000, options=["min=0", "max=1000"])
for extension, near in (("png", 0.01), ("bmp", 0.01), ("tga", 0.01), ("pgm", 0.01), ("webp", 0.01), ("jpg", 12)):
    Image.fromarray(grey).save(f"grey.{extension}", **({"lossless": True} if extension == "webp" else {"quality": 100} if extension == "jpg" else {}))
    expect(f"grey.{extension}", grey / 255 * 1000, options=["min=0", "max=1000"], near=near)
for name, number in (("terrarium", (HILLS + 32768) * 256), ("mapbox", (HILLS + 10000) * 10)):
    number = numpy.round(number).astype("uint32")
    colours = numpy.stack([number >> 16 & 255, number >> 8 & 255, number & 255], 2).astype("uint8")
    for extension in ("png", "webp"):
        Image.fromarray(colours).save(f"{name}.{extension}", **({"lossless": True} if extension == "webp" else {}))
        expect(f"{name}.{extension}", HILLS, near=0.06)
    Image.fromarray(colours).save(f"{name}.tif", compression="tiff_lzw")
    expect(f"{name}.tif", HILLS, near=0.06)
    expect(f"{name}.tif", HILLS, near=0.06, options=[f"encoding={name}"])
    transparent = numpy.dstack([colours, numpy.where(HOLE, 0, 255).astype("uint8")])
    for extension in ("png", "webp"):
        lossless = {"lossless": True, "exact": True} if extension == "webp" else {}
        Image.fromarray(transparent).save(f"{name}-holes.{extension}", **lossless)
        expect(f"{name}-holes.{extension}", HILLS, HOLE, near=0.06)


def write_exr(file, channels, dtype=OpenImageIO.FLOAT, compression="zip"):
    spec = OpenImageIO.ImageSpec(WIDTH, HEIGHT, len(channels), dtype)
    spec.channelnames = tuple(channels)
    spec.attribute("compression", compression)
    out = OpenImageIO.ImageOutput.create(file)
    assert out.open(file, spec), out.geterror()
    out.write_image(numpy.ascontiguousarray(numpy.stack(list(channels.values()), 2), "f4"))
    out.close()
    return file


ONES, FAR = numpy.ones_like(FLOATS), numpy.full_like(FLOATS, 1e10)
for compression in ("none", "rle", "zip", "zips", "piz", "pxr24", "b44", "b44a"):
    near = 0.5 if compression in ("pxr24",) else 1e-3
    expect(write_exr(f"exr-{compression}.exr", {"Y": FLOATS}, compression=compression), FLOATS, near=near)
for number, channels in enumerate((
    {"R": FLOATS, "G": FLOATS, "B": FLOATS, "A": ONES}, {"ViewLayer.Combined.R": FLOATS, "ViewLayer.Combined.A": ONES},
    {"ViewLayer.Depth.Z": FLOATS, "ViewLayer.Combined.R": ONES, "ViewLayer.Combined.A": ONES},
    {"ViewLayer.Depth.Z": FAR, "ViewLayer.Combined.R": FLOATS, "ViewLayer.Combined.A": ONES}, {"alpha": ONES, "depth": FLOATS},
    {"ViewLayer.Depth.Z": numpy.where(HOLE, 1e10, FLOATS)}, {"Heightmap": FLOATS, "R": ONES, "G": ONES, "B": ONES},
    {"bump.V": FLOATS, "albedo.R": ONES, "albedo.G": ONES}, {"elevation_m": FLOATS, "R": ONES},
    {"mask": ONES, "height": FLOATS}, {"Displacement.Y": FLOATS, "Normal.X": ONES, "Normal.Y": ONES, "Normal.Z": ONES},
)):
    has_holes = any((data[HOLE] == 1e10).all() and (data != 1e10).any() for data in channels.values())
    expect(write_exr(f"exr-channels-{number}.exr", channels), FLOATS, HOLE if has_holes else NONE)
expect(write_exr("exr-option.exr", {"Y": ONES, "mine.custom": FLOATS}), FLOATS, options=["channel=custom"])
expect(write_exr("exr-holes.exr", {"Y": numpy.where(HOLE, numpy.inf, FLOATS)}), FLOATS, HOLE)
expect(write_exr("exr-half.exr", {"Y": half}, OpenImageIO.HALF), half)
expect(write_exr("exr-fractions.exr", {"Y": share}), share * 2000.0, options=["max=2000"])

json.dump(cases, open("index.json", "w"))
print(len(cases), "files")
