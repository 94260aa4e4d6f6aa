// Another number in place of a given one: the field and the slider in the panel, the numbers that
// follow in the page, what is said of it, and the command that does the same.
const changesOver = ({ data, arithmetic, tables, panel, writeLine, writeCommand, onChange }) => {
  const { nameOf, arithmeticOf, valueOf } = arithmetic;
  const { typed, exact, styleFor, cellText, shadeOf } = arithmetic.numbers;
  const { follow, mayChange, ownOf } =
    followingOver(data, { valueOf, worthOf: arithmetic.worthOf });
  const bar = document.getElementById("changes");
  const box = panel.querySelector(".change");
  const changed = new Map();  // by the cell's name: {cell, value}
  let cell;  // that the field is for

  function writeTables(t) {
    const values = data.tensors[t].values;
    const style = styleFor(values);
    const largest = Math.max(0, ...values.map(Math.abs).filter(Number.isFinite));
    for (const table of tables.all().filter((each) => Number(each.dataset.tensor) === t)) {
      for (const element of table.tBodies[0].querySelectorAll("td:not(.gap)")) {
        const at = tables.cellOf(element);
        const value = valueOf(at);
        element.textContent = cellText(value, style);
        element.className = element.className.replace(/\b(x|[pn]\d)\b/, shadeOf(value, largest));
        element.classList.toggle("other", changed.has(nameOf(at)));
        element.classList.toggle("moved", element.textContent !== cellText(ownOf(at), style));
      }
    }
  }

  function writeWorked() {
    for (const element of document.querySelectorAll(".worked[data-cell]")) {
      const [tensor, matrix, row, column] = element.dataset.cell.split(" ").map(Number);
      const { lines } = arithmeticOf({ tensor, matrix, row, column });
      element.querySelector(".lines").replaceChildren(...lines.map(writeLine));
    }
  }

  // Sentences speak of the numbers that they were written for.
  function markWords() {
    for (const note of document.querySelectorAll(".of-before")) note.remove();
    if (changed.size === 0) return;
    const words = "header .summary, section:not([data-general]) :is(.say, .notice)";
    for (const element of document.querySelectorAll(words)) {
      element.prepend(make("p", { class: "of-before" }, "About the lesson's own numbers:"));
    }
  }

  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

  // A label of which something had to be made visible is no address: its place is.
  const addressOf = (of) => nameOf(of, /[\u2400-\u2426\ufffd\u25cc\u2423<]/.test(nameOf(of)));

  const command = () => [`qkv run ${data.asked}`, ...[...changed.values()].map(
    ({ cell: of, value }) => `--set ${quoted(`${addressOf(of)}=${typed(value)}`)}`)].join(" ");

  function copy(text, code, button) {
    const select = () => getSelection().selectAllChildren(code);  // then the keys for it do
    const done = () => { button.textContent = "Copied"; };
    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select); else select();
  }

  function writeBar() {
    bar.hidden = changed.size === 0;
    bar.replaceChildren();
    if (bar.hidden) return;
    const code = make("code", {});
    writeCommand(code, command());
    const copies = make("button", { type: "button" }, "Copy the command");
    copies.addEventListener("click", () => copy(code.textContent, code, copies));
    const back = make("button", { type: "button" }, "Back to the lesson's numbers");
    back.addEventListener("click", () => { changed.clear(); apply(); });
    const what = changed.size === 1 ? "One number is changed" : `${changed.size} numbers are changed`;
    bar.append(make("p", {}, `${what}, and all that follows. The same with qkv: `, code),
      make("p", {}, copies, " ", back));
  }

  let movedBefore = new Set();

  function apply() {
    const moved = follow([...changed.values()]);
    if (!moved) return false;
    for (const t of new Set([...movedBefore, ...moved])) writeTables(t);
    movedBefore = moved;
    writeWorked();
    markWords();
    writeBar();
    onChange();
    return true;
  }

  // The number of a text as `--set` reads it: -2.5, 2,5, 80%, 1/3, √2, 3/2√3. Else NaN.
  function numberOf(text) {
    const size = (digits) => (/^(\d+[.,]?\d*|[.,]\d+)(e[-+]?\d+)?$/i.test(digits) ?
      Number(digits.replace(",", ".")) : NaN);
    const product = (part) => {
      const [, factor, root] = /^([^√·]*)·?(√.+)?$/.exec(part) ?? [];
      return root ? size(factor || "1") * Math.sqrt(size(root.slice(1))) : size(part);
    };
    const [, sign, above, below, percent] =
      /^([-+−]?)([^/%]+)(?:\/([^/%]+)|(%))?$/.exec(text.trim().replace(/ *([/%]) */g, "$1")) ?? [];
    const amount = product(above ?? "") / (below ? product(below) : 1) / (percent ? 100 : 1);
    return sign === "-" || sign === "−" ? -amount : amount;
  }

  const field = make("input", { type: "text", inputmode: "decimal" });
  const slider = make("input", { type: "range", "aria-label": "Slide the number" });
  const back = make("button", { type: "button" });
  const fault = make("p", { role: "alert" });
  box.append(make("label", {}, "Another number ", field), slider, back, fault);

  function set(value) {
    const name = nameOf(cell);
    const before = changed.get(name);
    if (Object.is(value, ownOf(cell))) changed.delete(name); else changed.set(name, { cell, value });
    const followed = apply();
    if (!followed && before) changed.set(name, before);
    if (!followed && !before) changed.delete(name);
    fault.textContent = followed ? "" : "With this number something would be divided by zero or " +
      "grow too large: the page stays as it was.";
  }

  // 1, 2, 5, 10, …: the first that holds twice the largest of the matrix's own numbers.
  function reachOf(t) {
    const largest = Math.max(...data.tensors[t].values.map(Math.abs).filter(Number.isFinite));
    for (let power = 1; ; power *= 10) {
      for (const first of [1, 2, 5]) if (first * power >= 2 * largest) return first * power;
    }
  }

  function offer(of) {
    const same = cell && nameOf(cell) === nameOf(of);
    box.hidden = !mayChange(of);
    if (box.hidden) {
      cell = undefined;
      return;
    }
    cell = of;
    if (!same) {
      const reach = reachOf(of.tensor);
      slider.min = -reach;
      slider.max = reach;
      slider.step = reach / 100;
      fault.textContent = "";
    }
    const value = valueOf(of);
    if (field !== document.activeElement || !same) field.value = value;
    if (slider !== document.activeElement || !same) slider.value = value;
    field.setAttribute("aria-label", `Another number for ${nameOf(of)}`);
    slider.setAttribute("aria-valuetext", typed(value));
    back.textContent = `Back to ${typed(ownOf(of))}`;
    back.disabled = !changed.has(nameOf(of));
  }

  field.addEventListener("input", () => {
    const value = numberOf(field.value);
    if (Number.isFinite(value)) set(value);
    else fault.textContent = "This is not a number yet, such as -2.5, 1/3, 80% or √2.";
  });
  slider.addEventListener("input", () => {
    field.value = slider.valueAsNumber;
    set(slider.valueAsNumber);
  });
  back.addEventListener("click", () => {
    set(ownOf(cell));
    field.focus();
  });

  return {
    offer,
    mayChange,
    focus: () => { field.focus(); field.select(); },
    isOn: () => box.contains(document.activeElement),
    given: (at) => (changed.has(nameOf(at)) ? `changed; given: ${exact(ownOf(at))}` : undefined),
  };
};
