import { idOf, type SpanNode } from './span-tree.ts';

/** A step of one run beside that of another; one of them may be missing. */
export interface PairedStep {
  readonly left?: SpanNode;
  readonly right?: SpanNode;
}

/** Runs of more steps are paired by their places: to find the best way takes the product of both. */
const maxCompared = 600;

/** Pairs the steps of two runs by their names, in their order, so that as many as can be have a partner. */
export function pairSteps(left: readonly SpanNode[], right: readonly SpanNode[]): readonly PairedStep[] {
  const [ours, theirs] = [left.filter(isStep), right.filter(isStep)];
  if (ours.length * theirs.length > maxCompared ** 2) return byPlace(ours, theirs);
  const lengths = longestCommon(ours, theirs);
  const pairs: PairedStep[] = [];
  let [a, b] = [0, 0];
  while (a < ours.length || b < theirs.length) {
    const [one, other] = [ours[a], theirs[b]];
    const isSame = one?.span.name === other?.span.name;
    if (one && other && isSame) {
      pairs.push({ left: one, right: other });
      [a, b] = [a + 1, b + 1];
    } else if (other && (!one || (lengths[a]?.[b + 1] ?? 0) >= (lengths[a + 1]?.[b] ?? 0))) {
      pairs.push({ right: other });
      b++;
    } else if (one) {
      pairs.push({ left: one });
      a++;
    }
  }
  return pairs;
}

const isStep = ({ span }: SpanNode): boolean => span.kind !== 'takeover';

function byPlace(ours: readonly SpanNode[], theirs: readonly SpanNode[]): readonly PairedStep[] {
  return Array.from({ length: Math.max(ours.length, theirs.length) }, (_, at) => {
    const [left, right] = [ours[at], theirs[at]];
    return { ...(left && { left }), ...(right && { right }) };
  });
}

/** At `[a][b]` how many steps from `a` and `b` on can be paired at most. */
function longestCommon(ours: readonly SpanNode[], theirs: readonly SpanNode[]): readonly (readonly number[])[] {
  const lengths = Array.from({ length: ours.length + 1 }, () => new Array<number>(theirs.length + 1).fill(0));
  for (let a = ours.length - 1; a >= 0; a--)
    for (let b = theirs.length - 1; b >= 0; b--) {
      const row = lengths[a];
      if (!row) continue;
      const isSame = ours[a]?.span.name === theirs[b]?.span.name;
      row[b] = isSame ? (lengths[a + 1]?.[b + 1] ?? 0) + 1 : Math.max(lengths[a + 1]?.[b] ?? 0, row[b + 1] ?? 0);
    }
  return lengths;
}

/** By what a pair is known among the others. */
export const idOfPair = ({ left, right }: PairedStep): string =>
  left ? idOf(left) : right ? `other ${idOf(right)}` : '';
