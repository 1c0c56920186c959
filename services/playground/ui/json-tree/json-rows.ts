import type { JsonMembers } from './json-members.ts';
import type { JsonPlace } from './json-text.ts';

/** An object or a list whose members are shown. */
export interface OpenMembers {
  readonly place: JsonPlace;
  readonly members: JsonMembers;
  /** How many of its members are shown, from the first. */
  shown: number;
  /** Those of its members that are open, by their numbers. */
  readonly open: OpenMembers[];
  /** The rows below it. */
  rows: number;
  readonly parent?: OpenMembers;
  /** Which member of its parent it is. */
  readonly index: number;
}

/** A row: a member of what is open, or the one behind the last that is shown, which stands for those that are not. */
export interface JsonRow {
  readonly parent: OpenMembers;
  readonly index: number;
  /** From 1. */
  readonly level: number;
  readonly isRest: boolean;
  readonly opened?: OpenMembers;
}

/** A browser lays out no higher box: 22 px times this, with room for texts that are open. */
const maxRows = 1_000_000;
/** So many members are shown at first, and so many more each time. */
const pageOfMembers = 10_000;

/** Begins with the members of the outermost value. */
export const createRows = (place: JsonPlace, members: JsonMembers): OpenMembers =>
  withRows({ place, members, shown: Math.min(members.count, pageOfMembers), open: [], rows: 0, index: 0 });

function withRows(opened: OpenMembers): OpenMembers {
  opened.rows = opened.shown + (opened.shown < opened.members.count ? 1 : 0);
  return opened;
}

/** The row at a place among all rows, from 0. */
export function rowAt(root: OpenMembers, at: number): JsonRow {
  let parent = root;
  let left = at;
  for (let level = 1; ; level++) {
    let inside: OpenMembers | undefined;
    let opened: OpenMembers | undefined;
    for (const child of parent.open) {
      if (left < child.index) break;
      if (left === child.index) {
        opened = child;
        break;
      }
      if (left <= child.index + child.rows) {
        inside = child;
        break;
      }
      left -= child.rows;
    }
    if (!inside) return { parent, index: left, level, isRest: left >= parent.shown, ...(opened && { opened }) };
    left -= inside.index + 1;
    parent = inside;
  }
}

/** The place of a member among all rows. */
export function placeOf(parent: OpenMembers, index: number): number {
  let at = index;
  for (const child of parent.open) {
    if (child.index >= index) break;
    at += child.rows;
  }
  return parent.parent ? placeOf(parent.parent, parent.index) + 1 + at : at;
}

/** Where a value of a row stands in the text. */
export const valueOf = ({ parent: { members }, index }: Pick<JsonRow, 'parent' | 'index'>): JsonPlace => ({
  start: members.values[index] ?? 0,
  end: members.ends[index] ?? 0,
});

/** Shows the members of a row's value below it. Nothing happens where they would be too many rows for a page. */
export function openRow(row: Pick<JsonRow, 'parent' | 'index'>, members: JsonMembers): OpenMembers | undefined {
  const { parent, index } = row;
  const known = parent.open.find((child) => child.index === index);
  if (known) return known;
  const shown = Math.min(members.count, pageOfMembers);
  if (rootOf(parent).rows + shown > maxRows) return undefined;
  const opened = withRows({ place: valueOf(row), members, shown, open: [], rows: 0, parent, index });
  const before = parent.open.findLastIndex((child) => child.index < index);
  parent.open.splice(before + 1, 0, opened);
  grow(parent, opened.rows);
  return opened;
}

export function closeRow({ parent, index }: Pick<JsonRow, 'parent' | 'index'>): void {
  const at = parent.open.findIndex((child) => child.index === index);
  const [closed] = at < 0 ? [] : parent.open.splice(at, 1);
  if (closed) grow(parent, -closed.rows);
}

/** Shows members as far as one, and some behind it. */
export function showAsFar(opened: OpenMembers, index: number): void {
  const shown = Math.min(opened.members.count, index + pageOfMembers);
  const rest = (of: number): number => (of < opened.members.count ? 1 : 0);
  const more = shown + rest(shown) - opened.shown - rest(opened.shown);
  if (shown <= opened.shown || rootOf(opened).rows + more > maxRows) return;
  opened.shown = shown;
  grow(opened, more);
}

function grow(opened: OpenMembers, by: number): void {
  for (let each: OpenMembers | undefined = opened; each; each = each.parent) each.rows += by;
}

const rootOf = (opened: OpenMembers): OpenMembers => (opened.parent ? rootOf(opened.parent) : opened);

/** The number of the member that a place of the text belongs to: the last that begins at it or before it; −1 before the first. */
export function memberAt({ starts, count }: JsonMembers, offset: number): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((starts[middle] ?? 0) <= offset) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
