/** The way to a value inside a JSON value: names of fields and positions in lists. */
type Path = readonly (string | number)[];

/** One difference between two JSON values. */
export type Change =
  | { readonly kind: 'added'; readonly path: Path; readonly after: unknown }
  | { readonly kind: 'removed'; readonly path: Path; readonly before: unknown }
  | { readonly kind: 'changed'; readonly path: Path; readonly before: unknown; readonly after: unknown };

/**
 * What turns `before` into `after`. A list is compared between what both begin and end with, and as a window that slides, so that
 * a message at either end is one change. The position of what a list has lost counts in `before`, of what it has won in `after`.
 */
export function diff(before: unknown, after: unknown, path: Path = []): Change[] {
  if (isSame(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) return diffLists(before, after, path);
  if (isRecord(before) && isRecord(after)) return diffRecords(before, after, path);
  return [{ kind: 'changed', path, before, after }];
}

function diffRecords(before: Fields, after: Fields, path: Path): Change[] {
  const gone = Object.keys(before).filter((name) => !Object.hasOwn(after, name));
  return [
    ...gone.map((name): Change => ({ kind: 'removed', path: [...path, name], before: before[name] })),
    ...Object.keys(after).flatMap((name): Change[] => {
      const at = [...path, name];
      return Object.hasOwn(before, name)
        ? diff(before[name], after[name], at)
        : [{ kind: 'added', path: at, after: after[name] }];
    }),
  ];
}

function diffLists(before: readonly unknown[], after: readonly unknown[], path: Path): Change[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && isSame(before[head], after[head])) head++;
  let tail = 0;
  while (tail < shorter - head && isSame(before.at(-1 - tail), after.at(-1 - tail))) tail++;
  const slid = slideOf(before, after, head);
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
    if (isBefore && at < after.length - tail) changes.push(...diff(before[at], after[at], [...path, at]));
    else if (isBefore) changes.push({ kind: 'removed', path: [...path, at], before: before[at] });
    else changes.push({ kind: 'added', path: [...path, at], after: after[at] });
  }
  return changes;
}

/** Where the items of `before` begin that `after` goes on with from `head`, as a window over the newest messages does. */
function slideOf(before: readonly unknown[], after: readonly unknown[], head: number): number | undefined {
  for (let start = Math.max(head + 1, before.length + head - after.length); start < before.length; start++)
    if (before.slice(start).every((item, at) => isSame(item, after[head + at]))) return start;
  return undefined;
}

type Fields = Readonly<Record<string, unknown>>;
const isRecord = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether two JSON values are equal, whatever the order of their fields. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (Array.isArray(one) && Array.isArray(other))
    return one.length === other.length && one.every((item, at) => isSame(item, other[at]));
  if (!isRecord(one) || !isRecord(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
  );
}

/** `context[2].content`, as a reader would write it. */
export const pathText = (path: Path): string =>
  path
    .map((step, at) => {
      if (typeof step === 'number') return `[${String(step)}]`;
      if (!/^[A-Za-z_$][\w$]*$/.test(step)) return `[${JSON.stringify(step)}]`;
      return at === 0 ? step : `.${step}`;
    })
    .join('');
