//! Results table of a sweep: one row per run, with varied parameters and measures.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use parquet::{
    basic::{ConvertedType, Repetition, Type as PhysicalType},
    data_type::{ByteArray, ByteArrayType, DoubleType},
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::Type,
};
use serde_json::Value;

use crate::measures::{MEASURES, WALL};
use thalweg_scene::io::{Error, output};

/// Column of numbers if every cell is a number, otherwise of texts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ResultColumn {
    Numbers(Vec<f64>),
    Texts(Vec<String>),
}

/// Table with named columns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ResultTable {
    pub columns: Vec<(String, ResultColumn)>,
    /// Number of varied columns, which follow the run number.
    pub varied: usize,
}

impl ResultColumn {
    pub(super) fn text(&self, row: usize) -> String {
        match self {
            Self::Numbers(numbers) if numbers[row].is_nan() => String::new(),
            Self::Numbers(numbers) => numbers[row].to_string(),
            Self::Texts(texts) => texts[row].clone(),
        }
    }
}

impl ResultTable {
    /// Creates the table of all reports, ordered by run number.
    pub(super) fn of(reports: &BTreeMap<usize, (String, Value)>) -> Self {
        let all = || reports.values().map(|(_, report)| report);
        let mut columns =
            vec![("run".to_owned(), ResultColumn::Numbers(reports.keys().map(|number| *number as f64).collect()))];
        let mut names: Vec<&String> =
            all().filter_map(|report| report["run"]["values"].as_object()).flat_map(|values| values.keys()).collect();
        names.sort();
        names.dedup();
        let varied = names.len();
        for name in names {
            let texts = all().map(|report| report["run"]["values"][name].as_str().unwrap_or_default().to_owned());
            columns.push((name.clone(), column(texts.collect())));
        }
        for (name, place) in MEASURES.into_iter().chain([WALL]) {
            let numbers = all().map(|report| report.pointer(place).and_then(Value::as_f64).unwrap_or(f64::NAN));
            columns.push((name.to_owned(), ResultColumn::Numbers(numbers.collect())));
        }
        // Hashes of the ground: runs with the same hashes have bit-identical terrain.
        for layer in ["bedrock", "sand", "water"] {
            let texts = all().map(|report| report["layers"][layer]["hash"].as_str().unwrap_or_default().to_owned());
            columns.push((format!("{layer}_hash"), ResultColumn::Texts(texts.collect())));
        }
        Self { columns, varied }
    }

    pub(super) fn rows(&self) -> usize {
        match &self.columns[0].1 {
            ResultColumn::Numbers(numbers) => numbers.len(),
            ResultColumn::Texts(texts) => texts.len(),
        }
    }

    pub(super) fn csv(&self) -> String {
        let names = self.columns.iter().map(|(name, _)| &**name);
        let mut table = output::csv_row(names);
        for row in 0..self.rows() {
            let cells: Vec<String> = self.columns.iter().map(|(_, column)| column.text(row)).collect();
            table += &output::csv_row(cells.iter().map(|cell| &**cell));
        }
        table
    }

    /// Encodes the table as Parquet: numbers as doubles, texts as UTF-8. `path` is the file named in errors.
    pub(super) fn parquet(&self, path: &Path) -> Result<Vec<u8>, Error> {
        let wrong = |error: &dyn std::fmt::Display| Error::output(path, error.to_string(), "free some disk space");
        let field = |(name, column): &(String, ResultColumn)| {
            let kind = match column {
                ResultColumn::Numbers(_) => Type::primitive_type_builder(name, PhysicalType::DOUBLE),
                ResultColumn::Texts(_) => Type::primitive_type_builder(name, PhysicalType::BYTE_ARRAY)
                    .with_converted_type(ConvertedType::UTF8),
            };
            kind.with_repetition(Repetition::REQUIRED).build().map(Arc::new)
        };
        let fields = self.columns.iter().map(field).collect::<Result<Vec<_>, _>>().map_err(|error| wrong(&error))?;
        let schema = Type::group_type_builder("runs").with_fields(fields).build().map_err(|error| wrong(&error))?;
        let properties = Arc::new(WriterProperties::builder().build());
        let mut bytes = Vec::new();
        let write = |bytes: &mut Vec<u8>| -> Result<(), parquet::errors::ParquetError> {
            let mut writer = SerializedFileWriter::new(bytes, Arc::new(schema), properties)?;
            let mut group = writer.next_row_group()?;
            for (_, values) in &self.columns {
                let Some(mut column) = group.next_column()? else { break };
                match values {
                    ResultColumn::Numbers(numbers) => {
                        column.typed::<DoubleType>().write_batch(numbers, None, None)?;
                    }
                    ResultColumn::Texts(texts) => {
                        let texts: Vec<ByteArray> = texts.iter().map(|text| ByteArray::from(text.as_str())).collect();
                        column.typed::<ByteArrayType>().write_batch(&texts, None, None)?;
                    }
                }
                column.close()?;
            }
            group.close()?;
            writer.close().map(drop)
        };
        write(&mut bytes).map_err(|error| wrong(&error))?;
        Ok(bytes)
    }
}

fn column(texts: Vec<String>) -> ResultColumn {
    // A seed with more digits than a double can represent stays a text.
    let number = |text: &String| text.parse::<f64>().ok().filter(|number| number.is_finite() && number.abs() < 9e15);
    let numbers: Option<Vec<f64>> = texts.iter().map(number).collect();
    numbers.map_or(ResultColumn::Texts(texts), ResultColumn::Numbers)
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use serde_json::json;

    use super::*;

    fn reports() -> BTreeMap<usize, (String, Value)> {
        let report = |number: usize, law: &str, max: f64| {
            let values = json!({"droplets.law": law, "droplets.per_tick": (100 * number).to_string()});
            let report = json!({
                "ticks": 5, "statistics": {"max_m": max}, "layers": {"bedrock": {"hash": "0a"}},
                "run": {"number": number, "hash": "00", "values": values},
            });
            (number, (format!("{number:04}"), report))
        };
        [report(1, "Streams", 4.5), report(3, "a, \"b\"", 6.0)].into_iter().collect()
    }

    #[test]
    fn result_table_has_one_row_per_run_in_both_formats() {
        let seeds = ["18446744073709551615", "7"].map(str::to_owned).to_vec();
        assert_eq!(column(seeds.clone()), ResultColumn::Texts(seeds));
        let table = ResultTable::of(&reports());
        assert_eq!((table.rows(), table.varied), (2, 2));
        let text = table.csv();
        let rows: Vec<&str> = text.lines().collect();
        assert!(rows[0].starts_with("run,droplets.law,droplets.per_tick,ticks,"), "{}", rows[0]);
        assert!(rows[2].starts_with("3,\"a, \"\"b\"\"\",300,5,"), "{}", rows[2]);
        let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("{error}"));
        let path = folder.path().join("table.parquet");
        let bytes = table.parquet(&path).unwrap_or_else(|error| panic!("{error}"));
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{error}"));
        let reader = SerializedFileReader::new(std::fs::File::open(&path).unwrap_or_else(|error| panic!("{error}")))
            .unwrap_or_else(|error| panic!("{error}"));
        let found: Vec<String> = reader
            .get_row_iter(None)
            .unwrap_or_else(|error| panic!("{error}"))
            .map(|row| row.unwrap_or_else(|error| panic!("{error}")).to_string())
            .collect();
        assert_eq!(found.len(), 2);
        assert!(
            found[1].contains("droplets.law: \"a, \"b\"\"") && found[1].contains("droplets.per_tick: 300.0"),
            "{}",
            found[1]
        );
    }
}
