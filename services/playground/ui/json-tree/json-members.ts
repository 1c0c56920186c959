/** The members of an object or a list in a JSON text, by their places in it: no value is made of them. */
export interface JsonMembers {
  /** Where each begins: at its name in an object, at its value in a list. */
  readonly starts: Int32Array;
  readonly values: Int32Array;
  /** Behind the last character of each. */
  readonly ends: Int32Array;
  readonly count: number;
}

const quote = 0x22;
const comma = 0x2c;
const colon = 0x3a;
const backslash = 0x5c;
/** So many characters, or rows of them, are read before others may have their turn. */
const turn = 0x3fff;

/**
 * Finds the members of the object or list that begins at `open`, in one pass. It yields each time it has read a part, so that its
 * caller can let the page draw. It never fails: in a text that is cut or no JSON it finds what is there.
 */
export function* readMembers(text: string, open: number): Generator<undefined, JsonMembers> {
  const members = createMembers();
  const isObject = text.charCodeAt(open) === 0x7b;
  let depth = 0;
  let quoted = -1;
  let [start, value, end] = [-1, -1, open + 1];
  let isNamed = !isObject;
  const add = (): void => {
    if (start >= 0) members.add(start, value < 0 ? end : value, end);
    [start, value, isNamed] = [-1, -1, !isObject];
  };
  let at = open + 1;
  for (let steps = 1; at < text.length; steps++) {
    if ((steps & turn) === 0) yield undefined;
    if (quoted >= 0) {
      const close = text.indexOf('"', at);
      at = close < 0 ? text.length : close + 1;
      end = at;
      if (close < 0 || !isEscaped(text, close, quoted)) quoted = -1;
      continue;
    }
    const code = text.charCodeAt(at);
    if (depth === 0 && code === comma) add();
    else if (depth === 0 && code === colon && !isNamed) isNamed = true;
    else if (!isSpace(code)) {
      if (isClosing(code) && depth-- === 0) break;
      if (start < 0) start = at;
      if (value < 0 && isNamed) value = at;
      if (isOpening(code)) depth++;
      if (code === quote) quoted = at;
      end = at + 1;
    }
    at++;
  }
  add();
  return members.read();
}

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09;
export const isOpening = (code: number): boolean => code === 0x7b || code === 0x5b;
const isClosing = (code: number): boolean => code === 0x7d || code === 0x5d;

/** Whether an odd row of backslashes stands before a quote. Each row is read for one quote alone. */
function isEscaped(text: string, at: number, from: number): boolean {
  let before = at - 1;
  while (before > from && text.charCodeAt(before) === backslash) before--;
  return (at - before) % 2 === 0;
}

/** Behind the string that begins at `open`. */
export function endOfString(text: string, open: number): number {
  for (let at = open + 1; ;) {
    const close = text.indexOf('"', at);
    if (close < 0) return text.length;
    if (!isEscaped(text, close, open)) return close + 1;
    at = close + 1;
  }
}

/** Lists of places that grow as they are filled: a text may have millions. */
function createMembers() {
  let [starts, values, ends] = [new Int32Array(16), new Int32Array(16), new Int32Array(16)];
  let count = 0;
  return {
    add: (start: number, value: number, end: number): void => {
      if (count === starts.length) [starts, values, ends] = [grown(starts), grown(values), grown(ends)];
      starts[count] = start;
      values[count] = value;
      ends[count++] = end;
    },
    read: (): JsonMembers => ({ starts, values, ends, count }),
  };
}

function grown(list: Int32Array): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(list.length * 2);
  longer.set(list);
  return longer;
}
