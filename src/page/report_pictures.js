// Pictures of numbers: rows of two numbers as arrows in a plane, a line before and after as bars.
const text = (x, y, words, attributes = {}) => draw("text", { x, y, ...attributes }, words);

const picturesOver = (data, { placesOf, valueOf, worthOf, numbers }, { cellOf, labelOf }) => {
  const mostArrows = 12;
  const mostLetters = 40;  // of words on one line

  // [row operand, column operand] of a result whose every cell is a row of two numbers times another
  // such row: places in each, by which the other rows are found. Nothing for other results.
  function factorsOf(cell) {
    const { of = [], shape } = data.tensors[cell.tensor];
    const places = placesOf(cell);
    if (of.length < 2 || places.length !== 4 || Math.max(shape[1], shape[2]) > mostArrows) return [];
    const factors = [[places[0], places[2]], [places[1], places[3]]];
    const axis = (name) => factors.find((pair) => pair.every((place, at) =>
      place.tensor === pair[0].tensor && place.column === at && place.row === cell[name] &&
      data.tensors[place.tensor].shape[2] === 2));
    const pairs = [axis("row"), axis("column")];
    return pairs[0] && pairs[1] && pairs[0] !== pairs[1] ? pairs.map(([place]) => place) : [];
  }

  // The rows of both places' matrices; equal ones are one arrow.
  function arrowsOf(places) {
    const arrows = new Map();
    for (const place of places) {
      const { name, shape } = data.tensors[place.tensor];
      for (let row = 0; row < shape[1]; ++row) {
        const [x, y] = [0, 1].map((column) => valueOf({ ...place, row, column }));
        const arrow = arrows.get(`${x} ${y}`) ?? { x, y, rows: new Map(), words: new Map() };
        arrows.set(`${x} ${y}`, arrow);
        arrow.rows.set(place, [...arrow.rows.get(place) ?? [], row]);
        const words = arrow.words.get(name) ?? new Set();
        arrow.words.set(name, words.add(labelOf({ ...place, row, column: 0 }, "row")));
      }
    }
    return [...arrows.values()];
  }

  // An arrow from the middle, along its own axis and then turned; its words beside the tip, or nearer
  // the middle where other words are.
  function arrowPicture({ x, y, rows, words }, places, unit, taken) {
    const length = Math.hypot(x, y) * unit;
    const angle = (-Math.atan2(y, x) * 180) / Math.PI;
    const shaft = `M0 0H${length.toFixed(1)}${length > 0 ? "m-7 -4l7 4l-7 4" : ""}`;
    const [right, down] = [x * unit, -y * unit];  // of the middle: the tip
    const isRow = rows.has(places[0]);  // its words are above or right, those of columns on the other side
    const names = [...words].map(([name, labels]) => `${name}: ${[...labels].join(", ")}`);
    const all = names.join(" = ");
    const flat = Math.abs(x) > Math.abs(y);
    const labels = (all.length > mostLetters ? names : [all]).map((line) => {
      const wide = 6.5 * line.length;
      const most = Math.max(0, 128 - wide / 2);  // words stay inside the picture
      const wish = right + (flat ? 0 : (isRow ? 1 : -1) * (7 + wide / 2));
      const middle = Math.max(-most, Math.min(wish, most));
      let low = down + (flat ? (isRow ? -7 : 16) : 4);
      while (taken.some((each) => Math.abs(each.low - low) < 14 &&
        Math.abs(each.middle - middle) < (each.wide + wide) / 2)) low += down > 0 ? -14 : 14;
      taken.push({ middle, low, wide });
      return text(middle, low, line, { "text-anchor": "middle" });
    });
    const kinds = ["row", "column"].map((kind, k) => [`data-${kind}`, rows.get(places[k])])
      .filter(([, of]) => of).map(([name, of]) => [name, of.join(" ")]);
    return draw("g", { class: isRow ? "row" : "column", ...Object.fromEntries(kinds) },
      draw("path", { d: shaft, transform: `rotate(${angle.toFixed(1)})` }), ...labels);
  }

  function planeOf(table) {
    const cell = cellOf([...table.tBodies[0].rows[0].cells].at(-1));
    const places = cell ? factorsOf(cell) : [];
    if (places.length === 0) return undefined;
    const isOne = places[0].tensor === places[1].tensor;  // a matrix times its own transpose
    if (isOne) places[1] = places[0];
    const all = arrowsOf([...new Set(places)])
      .sort((a, b) => a.rows.has(places[0]) - b.rows.has(places[0]));  // the solid ones on top
    const reach = Math.max(...all.flatMap(({ x, y }) => [Math.abs(x), Math.abs(y)]));
    if (!Number.isFinite(reach) || !all.every(({ x, y }) => Number.isFinite(x + y))) return undefined;
    const unit = 84 / (reach || 1);
    const [a, b] = places.map((place) => data.tensors[place.tensor].name);
    const tick = numbers.brief(reach);
    const taken = [{ middle: 84, low: 14, wide: 6.5 * tick.length }];  // by words
    const legend = isOne ? [`rows of ${a}`] : [`solid: rows of ${a}`, `dashed: rows of ${b}`];
    return draw("svg", { class: "plane", viewBox: "-130 -110 260 256", role: "img",
      "aria-label": legend.join(", ") },
    draw("path", { class: "axis", d: "M-100 0H100M0 -100V100M84 -3V3M-3 -84H3" }),
    text(84, 14, tick, { class: "tick" }),
    ...all.map((arrow) => arrowPicture(arrow, places, unit, taken)),
    ...legend.map((line, k) => text(0, 124 + 16 * k, line,
      { class: "tick", "text-anchor": "middle" })));
  }

  const mostBars = 24;

  // "column" where a result's cell is made of its operand's row, "row" where of its column.
  function axisOf(cell) {
    const places = placesOf(cell);
    const { of = [], shape } = data.tensors[cell.tensor];
    if (places.length < 2 || String(data.tensors[of[0]]?.shape) !== String(shape)) return undefined;
    const same = (axis) => places.every((place) => place[axis] === cell[axis]);
    if (!same("matrix") || places.some(({ tensor }) => tensor !== of[0])) return undefined;
    return same("row") === same("column") ? undefined : same("row") ? "column" : "row";
  }

  // The line of a cell before and after a step such as softmax, or undefined where it has none.
  function barsOf(cell) {
    const { of, rows, columns } = data.tensors[cell.tensor];
    const corners = [[rows.at(-1), columns.at(-1)], [rows[0], columns[0]]];
    const axis = corners.map(([row, column]) => axisOf({ ...cell, row, column })).find(Boolean);
    const shown = axis === "column" ? columns : rows;
    if (!axis || shown.length > mostBars) return undefined;
    const line = shown.map((i) => ({ ...cell, [axis]: i }));
    const sides = [of[0], cell.tensor].map((tensor, side) => {
      const values = line.map((place) => {  // what nothing reads is not in the data
        const value = valueOf({ ...place, tensor });
        return Number.isNaN(value) && side === 1 ? worthOf(place) : value;
      });
      const finite = values.filter(Number.isFinite);
      const [low, high] = [Math.min(0, ...finite), Math.max(0, ...finite)];
      const [left, unit] = [130 + side * 132, 72 / (high - low || 1)];
      const style = numbers.styleFor(values);
      return [text(left + 72, 12, data.tensors[tensor].name, { "text-anchor": "end" }),
        ...values.flatMap((value, i) => {
          const size = Number.isFinite(value) ? value : 0;
          return [text(left - 6, 33 + 20 * i, Number.isNaN(value) ? "" : numbers.cellText(value, style),
            { "text-anchor": "end", class: line[i][axis] === cell[axis] ? "this" : "" }),
          draw("rect", { x: left + (Math.min(size, 0) - low) * unit, y: 22 + 20 * i, height: 14,
            width: Math.abs(size) * unit })];
        })];
    });
    const labels = line.map((place, i) => text(0, 33 + 20 * i,
      labelOf(place, axis), place[axis] === cell[axis] ? { class: "this" } : {}));
    return draw("svg", { class: "bars", viewBox: `0 0 340 ${20 * line.length + 24}`,
      "aria-hidden": "true" }, ...labels, ...sides.flat());
  }

  return { planeOf, barsOf };
};
