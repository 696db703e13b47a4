//! Results page of a sweep: an HTML page with a plot and a thumbnail of each run, sorted and filtered by parameter without a server.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use serde_json::{Value, json};

use super::results::{ResultColumn, ResultTable};
use crate::measures::is_time;
use thalweg_scene::io::reference::escape_html;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:0;color:#1d2226}header{position:sticky;top:0;background:#f3f4f3;\
padding:.7em 1.2em;display:flex;flex-wrap:wrap;gap:.6em 1.2em;align-items:center;z-index:1}h1{font-size:1.15em;margin:0}\
select,input{font:inherit}main{display:grid;grid-template-columns:repeat(auto-fill,minmax(15em,1fr));gap:1em;padding:1.2em}\
figure{margin:0;border:1px solid #ddd;border-radius:6px;overflow:hidden}img{width:100%;display:block;image-rendering:auto}\
figcaption{padding:.5em .7em;font-size:.88em}figcaption b{display:block}dl{display:grid;grid-template-columns:1fr auto;margin:.2em 0;\
gap:0 .6em}dt{color:#555}dd{margin:0;text-align:right;font-variant-numeric:tabular-nums}a{color:inherit}label{white-space:nowrap}\
#plot{padding:1em 1.2em 0}#plot svg{max-width:60em;width:100%;display:block}";

const SCRIPT: &str = include_str!("sheet.js");

/// Returns the page.
pub(super) fn page(table: &ResultTable, reports: &BTreeMap<usize, (String, Value)>) -> String {
    let names: Vec<&String> = table.columns.iter().map(|(name, _)| name).collect();
    let rows: Vec<Vec<Value>> = (0..table.rows())
        .map(|row| {
            let cells = table.columns.iter().map(|(_, column)| match column {
                ResultColumn::Numbers(numbers) => json!(numbers[row]),
                ResultColumn::Texts(texts) => json!(texts[row]),
            });
            cells.collect()
        })
        .collect();
    let folders: Vec<&String> = reports.values().map(|(folder, _)| folder).collect();
    let data = json!({"columns": names, "rows": rows, "folders": folders, "varied": table.varied});
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Runs</title><style>{STYLE}</style></head><body>\
         <header><h1>Runs</h1><span id=\"count\"></span>"
    );
    let options = |numbers: &[usize], chosen: usize| {
        let mut text = String::new();
        for number in numbers {
            let mark = if *number == chosen { " selected" } else { "" };
            let _ = write!(text, "<option value=\"{number}\"{mark}>{}</option>", escape_html(names[*number]));
        }
        text
    };
    let all: Vec<usize> = (0..names.len()).collect();
    let varied: Vec<usize> = (1..=table.varied).collect();
    let metrics = metrics(table);
    let (metric, axis) = (metrics.first().copied().unwrap_or(0), plot_axis(table));
    let series = varied.iter().copied().find(|column| *column != axis).unwrap_or(0);
    let _ = write!(
        page,
        "<label>Metric <select id=\"show\">{}</select></label><label>over <select id=\"axis\">{}</select></label>\
         <label>by <select id=\"series\"><option value=\"0\">nothing else</option>{}</select></label>\
         <label>Sort by <select id=\"sort\">{}</select></label><label><input type=\"checkbox\" id=\"down\"> largest first</label>",
        options(&metrics, metric),
        options(&varied, axis),
        options(&varied, series),
        options(&all, 0)
    );
    for (number, (name, column)) in table.columns.iter().enumerate().skip(1).take(table.varied) {
        let mut values: Vec<String> = (0..table.rows()).map(|row| column.text(row)).collect();
        values.sort_by(|a, b| match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => a.total_cmp(&b),
            _ => a.cmp(b),
        });
        values.dedup();
        // With many values, sorting is faster than choosing from a list.
        if values.len() > 40 {
            continue;
        }
        let _ = write!(
            page,
            "<label>{} <select data-column=\"{number}\"><option value=\"\">all</option>",
            escape_html(name)
        );
        for value in values {
            let _ = write!(page, "<option>{}</option>", escape_html(&value));
        }
        page.push_str("</select></label>");
    }
    // A `</script>` inside the data would end the script.
    let data = data.to_string().replace("</", "<\\/");
    let _ = writeln!(
        page,
        "</header><section id=\"plot\"></section><main></main><template><figure><a><img loading=\"lazy\"></a><figcaption><b></b><dl></dl></figcaption></figure></template>\
         <script>const data={data};\n{SCRIPT}</script></body></html>"
    );
    page
}

/// Returns the columns of numeric measures: those that differ between runs first.
fn metrics(table: &ResultTable) -> Vec<usize> {
    let measures = table.columns.iter().enumerate().skip(1 + table.varied);
    let (mut varying, mut constant) = (Vec::new(), Vec::new());
    for (number, (_, column)) in measures {
        if let ResultColumn::Numbers(numbers) = column {
            let varies = numbers.iter().any(|value| *value != numbers[0] && !(value.is_nan() && numbers[0].is_nan()));
            if varies { &mut varying } else { &mut constant }.push(number);
        }
    }
    // Times often vary too, but say nothing about the terrain.
    varying.sort_by_key(|number| is_time(&table.columns[*number].0));
    varying.extend(constant);
    varying
}

/// Returns the column along the horizontal axis of the plot: the varied parameter with the most values.
fn plot_axis(table: &ResultTable) -> usize {
    let count =
        |column: &usize| (0..table.rows()).map(|row| table.columns[*column].1.text(row)).collect::<BTreeSet<_>>().len();
    // The first of several.
    (1..=table.varied).rev().max_by_key(count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_opens_with_a_plot_of_a_metric_that_varies() {
        let numbers = |name: &str, values: [f64; 4]| (name.to_owned(), ResultColumn::Numbers(values.to_vec()));
        let table = ResultTable {
            columns: vec![
                numbers("run", [1.0, 2.0, 3.0, 4.0]),
                numbers("droplets.law", [1.0, 1.0, 2.0, 2.0]),
                numbers("droplets.per_tick", [100.0, 200.0, 300.0, 400.0]),
                numbers("ticks", [5.0; 4]),
                numbers("wall_seconds", [1.0, 2.0, 3.0, 4.0]),
                numbers("height_max_m", [9.0, 8.0, 7.0, f64::NAN]),
                numbers("missing", [f64::NAN; 4]),
            ],
            varied: 2,
        };
        assert_eq!((metrics(&table), plot_axis(&table)), (vec![5, 4, 3, 6], 2));
        let page = page(&table, &BTreeMap::new());
        for part in [
            "<select id=\"show\"><option value=\"5\" selected>height_max_m<",
            "<option value=\"2\" selected>droplets.per_tick<",
            "<section id=\"plot\"></section><main>",
        ] {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }
}
