// What follows from other given numbers, which the data names: every cell is worked out by the
// arithmetic that the page has of it anyway, matrix after matrix.
const followingOver = (data, { valueOf, worthOf }) => {
  const own = data.tensors.map((tensor) => [...tensor.values]);
  const placeOf = ({ tensor, matrix, row, column }) =>
    (matrix * data.tensors[tensor].shape[1] + row) * data.tensors[tensor].shape[2] + column;
  const ownOf = (cell) => own[cell.tensor][placeOf(cell)];

  function restore() {
    data.tensors.forEach((tensor, t) => { tensor.values = own[t].slice(); });
  }

  // Works all cells of a step out. Whether the page may say so: what was finite stays so, and what
  // was not stays what it was, since its arithmetic may be another then.
  function work(t) {
    const tensor = data.tensors[t];
    const [matrices, rows, columns] = tensor.shape;
    for (let at = 0; at < matrices * rows * columns; ++at) {
      const [line, column] = [Math.floor(at / columns), at % columns];
      const [matrix, row] = [Math.floor(line / rows), line % rows];
      const value = worthOf({ tensor: t, matrix, row, column });
      const was = own[t][at];
      if (!Number.isFinite(value + was) && !Object.is(value, was)) return false;
      tensor.values[at] = value;
    }
    return true;
  }

  // The numbers as they are with these changes, [{cell, value}]: the set of the tensors that have
  // moved; or undefined, and nothing has changed, where they can't be told.
  function follow(changes) {
    const before = data.tensors.map((tensor) => tensor.values);
    restore();
    const moved = new Set();
    for (const { cell, value } of changes) {
      data.tensors[cell.tensor].values[placeOf(cell)] = value;
      moved.add(cell.tensor);
    }
    for (let t = 0; t < data.tensors.length; ++t) {
      if (!data.tensors[t].of?.some((operand) => moved.has(operand))) continue;
      if (work(t)) {
        moved.add(t);
      } else {
        data.tensors.forEach((tensor, u) => { tensor.values = before[u]; });
        return undefined;
      }
    }
    return moved;
  }

  // Whether the page, from the lesson's own numbers, comes to the lesson's own numbers.
  function isSound() {
    const alike = (a, b) => Object.is(a, b) || a === b ||
      Math.abs(a - b) <= 1e-12 * Math.min(Math.abs(a), Math.abs(b));
    const sound = data.tensors.every((tensor, t) => !tensor.trees ||
      (work(t) && tensor.values.every((value, at) => alike(value, own[t][at]))));
    restore();
    return sound;
  }

  // More decimals than these, and a browser's last digits would show.
  const mostDigits = 9;
  let allowed;
  function mayChange(cell) {
    if (!data.changeable.includes(cell.tensor) || !Number.isFinite(valueOf(cell))) return false;
    return (allowed ??= data.digits <= mostDigits && isSound());
  }

  return { follow, mayChange, ownOf };
};
