import type { Path } from '../path-text.ts';

/** One difference between two JSON values. */
export type Change =
  | { readonly kind: 'added'; readonly path: Path; readonly after: unknown }
  | { readonly kind: 'removed'; readonly path: Path; readonly before: unknown }
  | { readonly kind: 'changed'; readonly path: Path; readonly before: unknown; readonly after: unknown };

/**
 * What turns `before` into `after`. A list is compared between what both begin and end with, and as a window that slides, so that
 * a message at either end is one change. The position of what a list has lost counts in `before`, of what it has won in `after`.
 */
export const diff = (before: unknown, after: unknown): Change[] => diffAt(before, after, [], createNumbers());

function diffAt(before: unknown, after: unknown, path: Path, numberOf: NumberOf): Change[] {
  if (before === after) return [];
  if (Array.isArray(before) && Array.isArray(after)) return diffLists(before, after, path, numberOf);
  if (isRecord(before) && isRecord(after)) return diffRecords(before, after, path, numberOf);
  return [{ kind: 'changed', path, before, after }];
}

function diffRecords(before: Fields, after: Fields, path: Path, numberOf: NumberOf): Change[] {
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return [
    ...gone.map((name): Change => ({ kind: 'removed', path: [...path, name], before: before[name] })),
    ...Object.keys(after).flatMap((name): Change[] => {
      const at = [...path, name];
      return Object.hasOwn(before, name)
        ? diffAt(before[name], after[name], at, numberOf)
        : [{ kind: 'added', path: at, after: after[name] }];
    }),
  ];
}

function diffLists(before: readonly unknown[], after: readonly unknown[], path: Path, numberOf: NumberOf): Change[] {
  const [old, now] = [before.map(numberOf), after.map(numberOf)];
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < shorter - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const slid = slideOf(old, now, head);
  if (slid !== undefined) {
    const kept = before.length - slid;
    return [
      ...before
        .slice(head, slid)
        .map((item, at): Change => ({ kind: 'removed', path: [...path, head + at], before: item })),
      ...after
        .slice(head + kept)
        .map((item, at): Change => ({ kind: 'added', path: [...path, head + kept + at], after: item })),
    ];
  }
  const changes: Change[] = [];
  for (let at = head; at < Math.max(before.length, after.length) - tail; at++) {
    const isBefore = at < before.length - tail;
    if (isBefore && at < after.length - tail)
      for (const change of diffAt(before[at], after[at], [...path, at], numberOf)) changes.push(change);
    else if (isBefore) changes.push({ kind: 'removed', path: [...path, at], before: before[at] });
    else changes.push({ kind: 'added', path: [...path, at], after: after[at] });
  }
  return changes;
}

/**
 * Where the items of `before` begin that `after` goes on with from `head`, as a window over the newest messages does: the longest end
 * of the one that the other begins with there. It is found as texts are, in one pass over both.
 */
function slideOf(before: readonly number[], after: readonly number[], head: number): number | undefined {
  const all = [...after.slice(head), -1, ...before.slice(head + 1)];
  const borders = [0];
  for (let at = 1; at < all.length; at++) {
    let border = borders[at - 1] ?? 0;
    while (border > 0 && all[at] !== all[border]) border = borders[border - 1] ?? 0;
    borders.push(all[at] === all[border] ? border + 1 : 0);
  }
  const kept = before.length > head + 1 ? (borders.at(-1) ?? 0) : 0;
  return kept === 0 ? undefined : before.length - kept;
}

type Fields = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The number of a JSON value: equal values have the same, whatever the order of their fields. Each is read once. */
type NumberOf = (value: unknown) => number;

function createNumbers(): NumberOf {
  const ofObjects = new Map<object, number>();
  const ofTexts = new Map<string, number>();
  const numberOfText = (text: string): number => {
    const known = ofTexts.get(text);
    if (known === undefined) ofTexts.set(text, ofTexts.size);
    return known ?? ofTexts.size - 1;
  };
  return function numberOf(value: unknown): number {
    if (typeof value === 'string') return numberOfText(`"${value}`);
    if (typeof value !== 'object' || value === null) return numberOfText(String(value));
    const before = ofObjects.get(value);
    if (before !== undefined) return before;
    const number = numberOfText(
      Array.isArray(value) ? `[${value.map(numberOf).join()}` : `{${textOf(value as Fields, numberOf)}`,
    );
    ofObjects.set(value, number);
    return number;
  };
}

const textOf = (value: Fields, numberOf: NumberOf): string =>
  Object.keys(value)
    .sort()
    .map((name) => `${String(name.length)} ${name} ${String(numberOf(value[name]))}`)
    .join();
