// The page: which cell is pointed at, what lights up, what the panel says.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const arithmetic = arithmeticOver(data);
  const { nameOf, arithmeticOf } = arithmetic;
  const tables = tablesOver(data);
  const { tableOf, elementOf, cellOf } = tables;
  const { planeOf, barsOf } = picturesOver(data, arithmetic, tables);
  const { besideResult, renew } = operandsOver(data, arithmetic, tables, planeOf);
  const panel = document.getElementById("panel");
  const said = document.getElementById("said");
  const changes = changesOver({ data, arithmetic, tables, panel, writeLine });

  let lit = [];
  let shownCell;

  function putOut() {
    for (const element of lit) element.classList.remove("lit", "chosen");
    lit = [];
    shownCell = undefined;
  }

  function light(element, look) {
    if (!element) return;
    element.classList.add(look);
    lit.push(element);
  }

  // Names of cells stay on one line; it may break before the second factor of a product.
  const unbroken = (line) => line.replace(/\[[^\]]*\]/g, (index) => index.replace(/ /g, "\u00a0"));

  // The labels of a cell stand by themselves: their letters may run from the right.
  function append(element, text) {
    text.split(/(?<=[[,])([^,[\]]+)(?=[,\]])/).forEach((piece, i) => {
      if (i % 2 === 0) return element.append(piece);
      element.append(make("bdi", {}, piece));
    });
  }

  function writeLine({ sign, text }) {
    const element = document.createElement("p");
    `${sign}\u00a0${unbroken(text)}`.split("·").forEach((factor, i) => {
      if (i > 0) element.append("·", document.createElement("wbr"));
      append(element, factor);
    });
    return element;
  }

  // A small copy of an operand, so that one needn't look for it further up. Of a large one only the
  // rows and columns that are lit.
  function sourceOf(table, places) {
    const most = 10;
    const copy = tables.copyOf(table);
    for (const place of places) {
      if (tableOf(place) === table) elementOf(place, copy)?.classList.add("lit");
    }
    const rows = [...copy.tBodies[0].rows];
    const isLit = (element) => element.querySelector?.(".lit") ?? element.matches(".lit");
    if (rows.length > most) {
      for (const row of rows) if (!row.querySelector(".lit")) row.remove();
    }
    const across = copy.tHead.rows[0].cells.length - 1;
    if (across > most) {
      const kept = [...copy.tBodies[0].rows].filter((row) => !row.classList.contains("gap"));
      for (let j = across; j > 0; --j) {
        if (kept.some((row) => isLit(row.cells[j]))) continue;
        for (const row of [copy.tHead.rows[0], ...kept]) row.cells[j].remove();
      }
      for (const row of copy.querySelectorAll("tr.gap")) row.remove();
    }
    return copy;
  }

  function showSources(cell, places) {
    const sources = panel.querySelector(".sources");
    sources.replaceChildren(barsOf(cell) ?? "");
    const operands = new Set(places.map(tableOf).filter((table) => table));
    for (const table of operands) {
      sources.append(make("div", { class: "scroll" }, sourceOf(table, places)));
    }
  }

  function show(element, aloud) {
    const cell = cellOf(element);
    if (!cell) return;
    if (element !== shownCell) panel.scrollTop = 0;
    putOut();
    shownCell = element;
    const { lines: found, places } = arithmeticOf(cell);
    const was = changes.given(cell);
    const lines = was === undefined ? found : found.map(({ sign, text }) => ({ sign, text: text.replace("given", was) }));
    for (const place of places) light(elementOf(place), "lit");
    for (const beside of besideResult(tableOf(cell), places, cell)) light(beside, "lit");
    const heading = panel.querySelector("h2");
    heading.replaceChildren();
    append(heading, unbroken(nameOf(cell)));
    const [names, ...steps] = lines.length > 1 ? lines : [undefined, ...lines];
    panel.querySelector(".lines").replaceChildren(...steps.map(writeLine));
    panel.querySelector(".names").hidden = !names;
    if (names) panel.querySelector(".names p").replaceWith(writeLine(names));
    showSources(cell, places);
    light(element, "chosen");
    panel.classList.remove("empty");
    changes.offer(cell);
    if (aloud) {
      said.textContent = lines.reduce((said, { sign, text }) => `${said} ${sign} ${text}`,
        nameOf(cell));
    }
  }

  function clear() {
    putOut();
    panel.classList.add("empty");
    panel.querySelector("h2").replaceChildren();
    panel.querySelector(".lines").replaceChildren();
    panel.querySelector(".sources").replaceChildren();
    panel.querySelector(".change").hidden = true;
    said.textContent = "";
  }

  const focused = () => {
    const element = document.activeElement;
    return element && cellOf(element) ? element : undefined;
  };

  document.addEventListener("pointerover", (event) => {
    const element = event.target.closest?.("td");
    if (event.pointerType === "touch" || panel.contains(event.target) || changes.isOn()) return;
    if (element && cellOf(element)) {
      if (element !== shownCell) show(element, false);
    } else if (shownCell && shownCell !== focused()) {
      if (focused()) show(focused(), false); else clear();
    }
  });

  function goTo(element) {
    const table = element.closest("table");
    for (const other of table.querySelectorAll("td[tabindex='0']")) other.tabIndex = -1;
    element.tabIndex = 0;  // Tab comes back to where one was
    element.focus();
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest?.("#panel .title button")) return clear();
    const element = event.target.closest?.("td");
    if (!element || panel.contains(element) || !cellOf(element)) return;
    if (element === document.activeElement) show(element, true); else goTo(element);
  });

  document.addEventListener("focusin", (event) => {
    if (cellOf(event.target)) show(event.target, true);
    if (event.target.closest("nav")) clear();  // which the panel would hide
  });

  const numbersOf = (row) => [...row.cells].filter((cell) => cellOf(cell));

  // Where a key leads from a cell.
  function next(element, event) {
    const rows = [...element.closest("tbody").rows].filter((row) => !row.classList.contains("gap"));
    const i = rows.indexOf(element.parentElement);
    const across = numbersOf(rows[i]);
    const j = across.indexOf(element);
    const at = (row, column) => {
      const line = rows[row] && numbersOf(rows[row]);
      return line && line[column];
    };
    const last = across.length - 1;
    switch (event.key) {
      case "ArrowLeft": return at(i, j - 1);
      case "ArrowRight": return at(i, j + 1);
      case "ArrowUp": return at(i - 1, j);
      case "ArrowDown": return at(i + 1, j);
      case "Home": return event.ctrlKey ? at(0, 0) : at(i, 0);
      case "End": return event.ctrlKey ? at(rows.length - 1, last) : at(i, last);
      default: return undefined;
    }
  }

  document.addEventListener("keydown", (event) => {
    const isTyped = event.key === "Enter" && event.target.type === "number";
    const isDone = isTyped || event.key === "Escape";
    if (changes.isOn() && isDone && shownCell) return goTo(shownCell);
    if (event.key === "Escape") return clear();
    const element = focused();
    const moves = /^(Arrow(Left|Right|Up|Down)|Home|End)$/.test(event.key);
    if (!element || !moves || event.altKey || event.metaKey) {
      if (element && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        show(element, true);
        if (changes.mayChange(cellOf(element))) changes.focus();
      }
      return;
    }
    event.preventDefault();
    const target = next(element, event);
    if (target) goTo(target);
  });

  for (const table of document.querySelectorAll("table[data-tensor]")) {
    table.setAttribute("role", "grid");
    table.setAttribute("aria-readonly", "true");
    const first = table.querySelector("tbody td:not(.gap)");
    if (first) first.tabIndex = 0;
  }
  changes.whenChanged(() => {
    renew();
    if (shownCell) show(shownCell, false);
  });
  for (const element of document.querySelectorAll(".how")) element.hidden = false;
  for (const element of document.querySelectorAll(".changeable")) {
    element.hidden = data.changeable.length === 0;
  }
  panel.hidden = false;
  mapOver(data);
  document.documentElement.classList.add("live");
  clear();
})();
