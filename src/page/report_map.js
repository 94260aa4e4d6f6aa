// The map: a box for each step, with arrows from what it is made of. It stays in view and marks the
// step that is being read.
const mapOver = ({ map: { boxes, layer, layers } }) => {
  const above = document.getElementById("above");
  const details = above.querySelector("details");
  const place = details.querySelector("div");
  const sections = [...document.querySelectorAll("main section")];
  const titleOf = (section) => section.querySelector(".name").textContent;
  const alike = layers > 1 ? ` (${layer} stands for each of ${layers} layers)` : "";
  let columns = [];  // {boxes, x, wide, bottom, lines: the height of each box's line}
  const [high, low, lane] = [32, 26, 6];  // a row, a box, the distance of lines

  const widthOf = ({ name, shape }) => 10 + Math.max(6.7 * name.length, 5.5 * shape.length);

  // Gives the boxes and lines of a column their heights. A line has a lane below the boxes that it
  // passes. Returns the gap to the column before, in which no line is too steep to follow.
  function settle(c, top) {
    const [{ lines = new Map() }, column] = [columns[c - 1] ?? {}, columns[c]];
    column.lines = new Map();
    column.bottom = top + column.boxes.length * high;
    column.boxes.forEach((box, i) => { box.y = top + i * high; });
    for (const box of column.boxes) if (box.last > c) column.lines.set(box, box.y + low / 2);
    for (const [box, height] of lines) {
      if (box.last === c) continue;
      column.lines.set(box, Math.max(column.bottom, height));
      column.bottom = column.lines.get(box) + lane;
    }
    const steps = column.boxes.flatMap(({ from, y }) => from.map((i) =>
      Math.abs(y + low / 2 - lines.get(boxes[i]))));
    return c === 0 ? 0 : Math.max(18, 10 + Math.max(0, ...steps) / 2.5);
  }

  // Boxes in columns, and columns in bands that are at most so wide. Returns the height.
  function layOut(most, margin) {
    let [x, top, bottom] = [0, 0, 0];
    columns = [];
    for (const box of boxes) {
      (columns[box.column] ??= { boxes: [] }).boxes.push(box);
      for (const i of box.from) boxes[i].last = Math.max(boxes[i].last ?? 0, box.column);
    }
    columns.forEach((column, c) => {
      const wide = Math.max(...column.boxes.map(widthOf));
      let gap = settle(c, top);
      if (x > 0 && x + gap + wide + margin > most) {
        [x, top, gap] = [margin, bottom + lane * columns[c - 1].lines.size, 0];
        settle(c, top);
      }
      column.boxes.forEach((box) => Object.assign(box, { x: x + gap, wide }));
      Object.assign(column, { x: x + gap, wide });
      bottom = Math.max(bottom, column.bottom);
      x += gap + wide;
    });
    return bottom;
  }

  // From column to column a line is straight. To another band it runs along the edges and between the
  // bands, in a lane of its own.
  function arrowTo(box, from) {
    const ends = [...columns[box.column - 1].lines.keys()].filter((each) =>
      box.from.includes(boxes.indexOf(each)));
    const end = box.y + (low * (ends.indexOf(from) + 1)) / (ends.length + 1);
    let shaft = `M${from.x + from.wide} ${from.y + low / 2}`;
    for (let c = from.column; c < box.column; ++c) {
      const [{ x, wide, lines, boxes: [above] }, next] = [columns[c], columns[c + 1]];
      const y = c + 1 < box.column ? next.lines.get(from) : end;
      const place = lane * [...lines.keys()].indexOf(from);
      shaft += next.boxes[0].y === above.y
        ? `L${next.x - 7} ${y}H${next.x}`
        : `H${x + wide + lane * lines.size - place}V${next.boxes[0].y - 3 - place}H${
          next.x - 8 - place}V${y}H${next.x}`;
      if (c + 1 < box.column) shaft += `H${next.x + next.wide}`;
    }
    return draw("path", { d: `${shaft}m-5 -3l5 3l-5 3` });
  }

  function boxPicture({ name, shape, x, y, wide }, i) {
    const middle = { "text-anchor": "middle" };
    const parts = [draw("rect", { x, y, width: wide, height: low, rx: 4 }),
      text(x + wide / 2, y + (shape ? 12 : 17), name, middle),
      text(x + wide / 2, y + 22, shape, { class: "shape", ...middle })];
    const next = boxes.find(({ from }) => from.includes(i))?.name;  // that a given leads to
    const step = sections.find((each) => titleOf(each) === name) ??
      sections.find((each) => titleOf(each) === next);
    return draw("a", step ? { href: `#${step.id}` } : {}, ...parts);
  }

  function write() {
    const most = place.clientWidth - 12;
    let height = layOut(most, 0);
    if (columns.at(-1).boxes[0].y > 0) {  // in several bands: with room for lines at their edges
      height = layOut(most, 8 + lane * Math.max(...columns.map(({ lines }) => lines.size)));
    }
    const width = Math.max(...columns.map(({ x, wide, lines }) => x + wide + lane * lines.size)) + 12;
    const arrows = boxes.flatMap((box) => box.from.map((from) => arrowTo(box, boxes[from])));
    place.replaceChildren(draw("svg", { viewBox: `-2 -2 ${width} ${height}`, width, height },
      ...arrows, ...boxes.map(boxPicture)));
    mark();
  }

  // The step at the top of what is read. Layers that are built alike have the boxes of one.
  function mark() {
    const edge = above.getBoundingClientRect().bottom + 90;
    const here = sections.findLast((section) => section.getBoundingClientRect().top < edge);
    const name = here && titleOf(here).replace(/^(d_)?h\d+\./, `$1${layer}.`);
    details.querySelector("b").textContent = `${here ? titleOf(here) : "start"}${alike}`;
    [...place.querySelectorAll("a")].forEach((element, i) => {
      const isHere = boxes[i].name === name;
      if (isHere && !element.matches(".here")) {
        const { y } = boxes[i];
        if (y < place.scrollTop || y + high > place.scrollTop + place.clientHeight) place.scrollTop = y;
      }
      element.classList.toggle("here", isHere);
      element.ariaCurrent = isHere ? "step" : null;
    });
  }

  new ResizeObserver(() => {  // what is jumped to comes to stand below the map
    document.documentElement.style.scrollPaddingTop = `${above.offsetHeight + 8}px`;
  }).observe(above);

  details.hidden = false;
  details.open = innerWidth >= 700;
  details.addEventListener("toggle", write);
  addEventListener("resize", write);
  addEventListener("scroll", () => requestAnimationFrame(mark), { passive: true });
  write();
};
