//! Contact sheet of a sweep: an HTML page with a thumbnail of each run, sorted and filtered by parameter without a server.

use std::{collections::BTreeMap, fmt::Write};

use serde_json::{Value, json};

use super::results::ResultTable;
use thalweg_scene::io::reference::escape_html;

const STYLE: &str = "body{font:15px/1.45 system-ui,sans-serif;margin:0;color:#1d2226}header{position:sticky;top:0;background:#f3f4f3;\
padding:.7em 1.2em;display:flex;flex-wrap:wrap;gap:.6em 1.2em;align-items:center;z-index:1}h1{font-size:1.15em;margin:0}\
select,input{font:inherit}main{display:grid;grid-template-columns:repeat(auto-fill,minmax(15em,1fr));gap:1em;padding:1.2em}\
figure{margin:0;border:1px solid #ddd;border-radius:6px;overflow:hidden}img{width:100%;display:block;image-rendering:auto}\
figcaption{padding:.5em .7em;font-size:.88em}figcaption b{display:block}dl{display:grid;grid-template-columns:1fr auto;margin:.2em 0;\
gap:0 .6em}dt{color:#555}dd{margin:0;text-align:right;font-variant-numeric:tabular-nums}a{color:inherit}label{white-space:nowrap}";

const SCRIPT: &str = "const all=data.rows.map((row,index)=>({row,index}));\
const sort=document.querySelector('#sort'),down=document.querySelector('#down'),show=document.querySelector('#show');\
const filters=[...document.querySelectorAll('[data-column]')];\
const number=value=>typeof value==='number'?value:NaN;\
const text=value=>typeof value==='number'?String(Number(value.toPrecision(5))):value;\
function draw(){const by=+sort.value,extra=+show.value;let rows=all.filter(({row})=>filters.every(field=>{\
const wanted=field.value;return wanted===''||String(row[+field.dataset.column])===String(typeof \
row[+field.dataset.column]==='number'?Number(wanted):wanted)}));\
rows.sort((a,b)=>{const [x,y]=[a.row[by],b.row[by]];const order=typeof x==='number'?number(x)-number(y):String(x).localeCompare(y);\
return (down.checked?-1:1)*(order||a.index-b.index)});\
document.querySelector('#count').textContent=rows.length+' of '+all.length+' runs';\
document.querySelector('main').replaceChildren(...rows.map(({row,index})=>{\
const figure=document.querySelector('template').content.cloneNode(true);\
const folder='runs/'+data.folders[index]+'/';figure.querySelector('img').src=folder+'thumbnail.png';\
figure.querySelector('img').alt='Run '+row[0]+', top view';\
figure.querySelector('a').href=folder+'report.json';figure.querySelector('b').textContent='Run '+row[0];\
const list=figure.querySelector('dl');const columns=[...Array(data.varied).keys()].map(column=>column+1);\
if(extra>0&&!columns.includes(extra))columns.push(extra);\
for(const column of columns){const [name,value]=['dt','dd'].map(tag=>document.createElement(tag));\
name.textContent=data.columns[column];value.textContent=text(row[column]);list.append(name,value)}return figure}))}\
for(const field of [sort,down,show,...filters])field.addEventListener('change',draw);draw();";

/// Returns the page.
pub(super) fn page(table: &ResultTable, reports: &BTreeMap<usize, (String, Value)>) -> String {
    let names: Vec<&String> = table.columns.iter().map(|(name, _)| name).collect();
    let rows: Vec<Vec<Value>> = (0..table.rows())
        .map(|row| {
            let cells = table.columns.iter().map(|(_, column)| match column {
                super::results::ResultColumn::Numbers(numbers) => json!(numbers[row]),
                super::results::ResultColumn::Texts(texts) => json!(texts[row]),
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
    let options = |chosen: usize| {
        let mut text = String::new();
        for (number, name) in names.iter().enumerate() {
            let mark = if number == chosen { " selected" } else { "" };
            let _ = write!(text, "<option value=\"{number}\"{mark}>{}</option>", escape_html(name));
        }
        text
    };
    let _ = write!(
        page,
        "<label>Sort by <select id=\"sort\">{}</select></label><label><input type=\"checkbox\" id=\"down\"> largest first</label>\
         <label>Show <select id=\"show\">{}</select></label>",
        options(0),
        options((table.varied + 5).min(names.len() - 1))
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
        "</header><main></main><template><figure><a><img loading=\"lazy\"></a><figcaption><b></b><dl></dl></figcaption></figure></template>\
         <script>const data={data};{SCRIPT}</script></body></html>"
    );
    page
}
