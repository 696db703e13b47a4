const all = data.rows.map((row, index) => ({ row, index }));
const field = name => document.querySelector('#' + name);
const [sort, down, show, axis, series] = ['sort', 'down', 'show', 'axis', 'series'].map(field);
const filters = [...document.querySelectorAll('[data-column]')];
const isNumber = value => typeof value === 'number';
const text = value => isNumber(value) ? String(Number(value.toPrecision(5))) : String(value ?? '');
// Ticks need more digits than values, but no rounding noise.
const label = value => isNumber(value) ? String(Number(value.toPrecision(10))) : String(value);
const distinct = values => [...new Set(values)];
const colors = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#555555', '#000000'];
const dashes = ['', '7 4', '2 3', '9 3 2 3'];

function compare(a, b) {
    return isNumber(a) && isNumber(b) ? a - b : String(a ?? '').localeCompare(String(b ?? ''));
}

function matches(row) {
    return filters.every(filter => {
        const value = row[+filter.dataset.column];
        return filter.value === '' || (isNumber(value) ? value === Number(filter.value) : value === filter.value);
    });
}

// Round values between two ends.
function ticks(low, high, logarithmic) {
    const found = [];
    if (logarithmic) {
        for (let power = Math.ceil(Math.log10(low)); power <= Math.log10(high) + 1e-9; power++) found.push(10 ** power);
        if (found.length > 1) return found;
    }
    const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map(factor => factor * power).find(step => step >= rough * 0.999);
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + 1e-9 * step; at++) found.push(at * step);
    return logarithmic ? found.filter(value => value > 0) : found;
}

// Scale of one axis: numbers in their range, or texts in equal distances.
function scale(values, from, to, mayBeLogarithmic) {
    if (!values.every(isNumber)) {
        const names = distinct(values).sort(compare);
        const at = value => from + (to - from) * (names.indexOf(value) + 0.5) / names.length;
        return { at, ticks: names };
    }
    let [low, high] = [Math.min(...values), Math.max(...values)];
    const logarithmic = mayBeLogarithmic && low > 0 && high / low >= 30;
    const along = logarithmic ? Math.log10 : value => value;
    if (low === high) [low, high] = low === 0 ? [-1, 1] : [low - Math.abs(low) * 0.1, high + Math.abs(high) * 0.1];
    const [first, last] = [along(low), along(high)], room = (last - first) * 0.04;
    const at = value => from + (to - from) * (along(value) - first + room) / (last - first + 2 * room);
    return { at, ticks: ticks(low, high, logarithmic) };
}

function element(name, attributes, content) {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (content !== undefined) made.textContent = content;
    return made;
}

function plot(rows) {
    const [x, y, by] = [+axis.value, +show.value, +series.value === +axis.value ? 0 : +series.value];
    const points = rows.filter(({ row }) => isNumber(row[y]));
    const [width, height, left, top, bottom] = [760, 300, 90, 34, 256];
    const names = [data.columns[y], data.columns[x]];
    const svg = element('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'font-size': 12,
        'aria-label': `Plot of ${names[0]} over ${names[1]}` });
    field('plot').replaceChildren(svg);
    if (points.length === 0) return;
    const groups = by === 0 ? [''] : distinct(points.map(({ row }) => row[by])).sort(compare);
    const right = by === 0 ? width - 20 : width - 170;
    const across = scale(points.map(({ row }) => row[x]), left, right, true);
    const up = scale(points.map(({ row }) => row[y]), bottom, top, false);
    for (const value of across.ticks) {
        svg.append(element('path', { d: `M${across.at(value)} ${top}V${bottom}`, stroke: '#e4e4e4' }));
        svg.append(element('text', { x: across.at(value), y: bottom + 16, 'text-anchor': 'middle' }, label(value)));
    }
    for (const value of up.ticks) {
        svg.append(element('path', { d: `M${left} ${up.at(value)}H${right}`, stroke: '#e4e4e4' }));
        svg.append(element('text', { x: left - 6, y: up.at(value) + 4, 'text-anchor': 'end' }, label(value)));
    }
    svg.append(element('path', { d: `M${left} ${top}V${bottom}H${right}`, stroke: '#888', fill: 'none' }));
    svg.append(element('text', { x: (left + right) / 2, y: height - 8, 'text-anchor': 'middle' }, names[1]));
    svg.append(element('text', { x: 6, y: 18, 'font-weight': 'bold' }, names[0]));
    groups.forEach((group, number) => {
        const own = points.filter(({ row }) => by === 0 || row[by] === group);
        const color = colors[number % colors.length], dash = dashes[Math.floor(number / colors.length) % dashes.length];
        const places = distinct(own.map(({ row }) => row[x])).sort(compare);
        // Means of repeated values; unconnected dots in a random sample of several parameters.
        if (places.length > 1 && (places.length < own.length || data.varied === 1 || by !== 0 && data.varied === 2)) {
            const means = places.map(place => {
                const here = own.filter(({ row }) => row[x] === place).map(({ row }) => row[y]);
                return here.reduce((sum, value) => sum + value, 0) / here.length;
            });
            const path = means.map((mean, index) => `${index ? 'L' : 'M'}${across.at(places[index])} ${up.at(mean)}`).join('');
            svg.append(element('path', { d: path, stroke: color, 'stroke-width': 1.6, 'stroke-dasharray': dash, fill: 'none' }));
        }
        for (const { row, index } of own) {
            const link = element('a', { href: 'runs/' + data.folders[index] + '/report.json' });
            const dot = element('circle', { cx: across.at(row[x]), cy: up.at(row[y]), r: 3.5, fill: color });
            dot.append(element('title', {}, `Run ${row[0]}: ${text(row[y])}`));
            link.append(dot);
            svg.append(link);
        }
        const line = top + 18 * (number + 1);
        if (by !== 0 && line <= bottom) {
            svg.append(element('circle', { cx: right + 16, cy: line - 4, r: 4, fill: color }));
            svg.append(element('text', { x: right + 26, y: line }, text(group)));
        }
    });
    if (by !== 0) svg.append(element('text', { x: right + 10, y: top, 'font-style': 'italic' }, data.columns[by]));
}

function figures(rows) {
    const extra = +show.value;
    return rows.map(({ row, index }) => {
        const figure = document.querySelector('template').content.cloneNode(true);
        const folder = 'runs/' + data.folders[index] + '/';
        const image = figure.querySelector('img');
        image.src = folder + 'thumbnail.png';
        image.alt = 'Run ' + row[0] + ', top view';
        figure.querySelector('a').href = folder + 'report.json';
        figure.querySelector('b').textContent = 'Run ' + row[0];
        const columns = [...Array(data.varied).keys()].map(column => column + 1);
        if (!columns.includes(extra)) columns.push(extra);
        for (const column of columns) {
            const [name, value] = ['dt', 'dd'].map(tag => document.createElement(tag));
            name.textContent = data.columns[column];
            value.textContent = text(row[column]);
            figure.querySelector('dl').append(name, value);
        }
        return figure;
    });
}

function draw() {
    const by = +sort.value;
    const rows = all.filter(({ row }) => matches(row));
    rows.sort((a, b) => (down.checked ? -1 : 1) * (compare(a.row[by], b.row[by]) || a.index - b.index));
    field('count').textContent = rows.length + ' of ' + all.length + ' runs';
    plot(rows);
    document.querySelector('main').replaceChildren(...figures(rows));
}

for (const control of [sort, down, show, axis, series, ...filters]) control.addEventListener('change', draw);
draw();
