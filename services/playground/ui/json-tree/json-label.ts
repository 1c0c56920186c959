import { endOfString, readMembers, type JsonMembers } from './json-members.ts';
import { valueOf, type JsonRow } from './json-rows.ts';
import { kindAt, startAt, unquoted, type JsonKind, type JsonPlace } from './json-text.ts';
import { counted, grouped } from '../format.ts';
import { pathText } from '../path-text.ts';

/** What a row says. */
interface JsonLabel {
  /** The name of a field as it is written, or the number of an item. */
  readonly name: string;
  readonly isItem: boolean;
  readonly kind: JsonKind;
  /** The value as it is written, as far as it fits a line; of an object or list what it holds. */
  readonly text: string;
  /** Whether the value is a text or number that goes on. */
  readonly isCut: boolean;
  /** Whether it is an object or list that holds something. */
  readonly isHolder: boolean;
}

/** So many characters of a value stand in its row. */
export const maxInRow = 300;
const maxName = 120;
/** An object or list is read so far to say what it holds. */
const maxPeek = 1500;
const maxNames = 60;
/** What stands for an object without fields; a list has as many signs. */
const emptyMarks = '{ }';

export function labelOf(text: string, row: JsonRow): JsonLabel {
  const { parent, index } = row;
  const isItem = kindAt(text, parent.place.start) === 'array';
  const value = valueOf(row);
  const kind = kindAt(text, value.start);
  const name = isItem ? grouped(index) : nameOf(text, row);
  if (kind === 'object' || kind === 'array') {
    const contents = contentsOf(text, value, kind);
    return { name, isItem, kind, text: contents, isCut: false, isHolder: contents.length > emptyMarks.length };
  }
  const { text: start, isCut } = startAt(text, value, maxInRow);
  return { name, isItem, kind, text: start, isCut, isHolder: false };
}

function nameOf(text: string, { parent: { members }, index }: Pick<JsonRow, 'parent' | 'index'>): string {
  const start = members.starts[index] ?? 0;
  const end = Math.min(members.values[index] ?? 0, start + maxName);
  const name = unquoted(text.slice(start, Math.min(end, endOfString(text.slice(start, end), 0) + start)));
  return name.length >= maxName - 1 ? `${name.slice(0, maxName)}…` : name;
}

/** `{ } name, age` and `[ ] 5 items`; of what is large how long its text is. */
function contentsOf(text: string, place: JsonPlace, kind: 'object' | 'array'): string {
  const isWhole = place.end - place.start <= maxPeek;
  const members = readAll(text.slice(place.start, Math.min(place.end, place.start + maxPeek)));
  const marks = kind === 'array' ? '[ ]' : emptyMarks;
  if (isWhole && members.count === 0) return marks;
  const size = isWhole ? '' : `, ${lengthText(place.end - place.start)}`;
  if (kind === 'array')
    return `${marks} ${isWhole ? counted(members.count, 'item') : lengthText(place.end - place.start)}`;
  return `${marks} ${namesOf(text.slice(place.start, place.start + maxPeek), members)}${size}`;
}

function namesOf(text: string, members: JsonMembers): string {
  const names: string[] = [];
  let length = 0;
  for (let index = 0; index < members.count; index++) {
    const start = members.starts[index] ?? 0;
    const name = unquoted(text.slice(start, endOfString(text, start)));
    length += name.length;
    if (length > maxNames) return [...names, '…'].join(', ');
    names.push(name);
  }
  return names.join(', ');
}

/** Of a short text: it is read at once. */
function readAll(text: string): JsonMembers {
  const reading = readMembers(text, 0);
  for (;;) {
    const next = reading.next();
    if (next.done) return next.value;
  }
}

/** `1.2 million characters` for a reader who wants to know whether to open it. */
function lengthText(length: number): string {
  if (length < 1_000_000) return `${grouped(Math.round(length / 1000))} thousand characters`;
  return `${(length / 1_000_000).toFixed(1)} million characters`;
}

/** The way to the value of a row, as a reader would write it: `state.context[2]`. */
export function pathOf(
  text: string,
  row: Pick<JsonRow, 'parent' | 'index'>,
  before: readonly (string | number)[] = [],
): string {
  const steps: (string | number)[] = [];
  let { parent, index } = row;
  for (;;) {
    const start = parent.members.starts[index] ?? 0;
    steps.push(
      kindAt(text, parent.place.start) === 'array' ? index : unquoted(text.slice(start, endOfString(text, start))),
    );
    if (!parent.parent) break;
    ({ index, parent } = { index: parent.index, parent: parent.parent });
  }
  return pathText([...before, ...steps.reverse()]);
}

/** What is copied of a row: of a text what it stands for, of anything else what is written. */
export function copiedValueOf(text: string, row: JsonRow): string {
  const { start, end } = valueOf(row);
  const written = text.slice(start, end);
  return kindAt(text, start) === 'string' ? unquoted(written) : written;
}
