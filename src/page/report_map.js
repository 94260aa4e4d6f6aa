// The map: a box for each step, with arrows from what it is made of. It stays in view and marks the
// step that is being read.
const mapOver = ({ map: { boxes, layer, layers } }) => {
  const above = document.getElementById("above");
  const details = above.querySelector("details");
  const place = details.querySelector("div");
  const sections = [...document.querySelectorAll("main section")];
  const titleOf = (section) => section.querySelector(".name").textContent;
  const alike = layers > 1 ? ` (${layer} stands for each of ${layers} layers)` : "";
  let tops = [];  // of the bands
  const [high, low, apart] = [32, 26, 18];  // a row with its gap, a box, the gap between columns

  const widthOf = ({ name, shape }) => 10 + Math.max(6.7 * name.length, 5.5 * shape.length);

  // Boxes in columns, and columns in bands that are at most so wide. Returns {width, height}.
  function layOut(most) {
    let [x, top, height, band, width] = [0, 0, 0, 0, 0];
    const columns = [];
    tops = [0];
    for (const box of boxes) (columns[box.column] ??= []).push(box);
    for (const column of columns) {
      const wide = Math.max(...column.map(widthOf));
      if (x > 0 && x + wide > most) {
        [x, top, height, band] = [12, top + height, 0, band + 1];
        tops.push(top);
      }
      column.forEach((box, i) => Object.assign(box, { x, y: top + i * high, wide, band }));
      height = Math.max(height, column.length * high);
      width = Math.max(width, x + wide);
      x += wide + apart;
    }
    return { width, height: top + height };
  }

  // To another band an arrow runs between the bands, and down at the left edge.
  function arrowTo(box, from) {
    const [x, y] = [box.x - 1, box.y + low / 2];
    const [left, start] = [from.x + from.wide, from.y + low / 2];
    const shaft = from.band === box.band
      ? `M${left} ${start}C${left + apart} ${start} ${x - apart} ${y} ${x} ${y}`
      : `M${left} ${start}h8V${tops[from.band + 1] - 3}${from.band + 1 < box.band
        ? `H1V${tops[box.band] - 3}` : ""}H${x - 10}V${y}H${x}`;
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
    const { width, height } = layOut(place.clientWidth - 12);
    const arrows = boxes.flatMap((box) => box.from.map((from) => arrowTo(box, boxes[from])));
    place.replaceChildren(draw("svg", { viewBox: `-2 -2 ${width + 12} ${height}`, width: width + 12,
      height }, ...arrows, ...boxes.map(boxPicture)));
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
      if (isHere) element.setAttribute("aria-current", "step");
      else element.removeAttribute("aria-current");
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
