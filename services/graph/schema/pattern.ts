import { isLineEnd, parsePattern, type Part, type Place } from './pattern-parse.ts';
import { isWord, type Has } from './pattern-sets.ts';

/** A regular expression that is matched in time that grows with the text alone: all ways through it are followed at once, none twice. */
export interface Pattern {
  /** Whether it matches somewhere in a text. Each step of the work is given to `spend`, which may throw. */
  readonly test: (text: string, spend: (steps: number) => void) => boolean;
}

/** What the expressions of one schema may take: counts of counted parts multiply. */
export const maxStates = 20_000;

/** How many states may still be made. */
interface Size {
  left: number;
}

/** @throws Error that says why it cannot be read, or that its states are more than `size` has left. */
export function createPattern(source: string, size: Size = { left: maxStates }): Pattern {
  const program = toProgram(parsePattern(source), size, false);
  return { test: (text, spend) => isFound(program, toCodes(text), spend) };
}

type State =
  | { readonly op: 'one'; readonly has: Has; readonly next: number }
  | { readonly op: 'split'; readonly to: number[] }
  | { readonly op: 'place'; readonly place: Place; readonly next: number }
  | { readonly op: 'look'; readonly program: Program; readonly negative: boolean; readonly next: number }
  | { readonly op: 'end' };

interface Program {
  readonly states: readonly State[];
  readonly first: number;
  /** Whether it reads the text from its place to the left. */
  readonly backwards: boolean;
  /** Whether it can only match at the start of the text. */
  readonly atStart: boolean;
}

function toProgram(part: Part, size: Size, backwards: boolean): Program {
  const states: State[] = [{ op: 'end' }];
  const add = (state: State): number => {
    if (size.left-- === 0) throw new Error(`it has more than ${String(maxStates)} states`);
    return states.push(state) - 1;
  };
  /** Adds the states of a part that go on to `next`, and gives the first of them. */
  const enter = (each: Part, next: number): number => {
    switch (each.kind) {
      case 'one':
        return add({ op: 'one', has: each.has, next });
      case 'place':
        return add({ op: 'place', place: each.place, next });
      case 'look':
        return add({ op: 'look', program: toProgram(each.part, size, each.behind), negative: each.negative, next });
      case 'row':
        return (backwards ? each.parts : each.parts.toReversed()).reduce((to, one) => enter(one, to), next);
      case 'choice':
        return add({ op: 'split', to: each.parts.map((one) => enter(one, next)) });
      case 'repeat': {
        const { part: repeated, min, max } = each;
        let at = next;
        if (max === Infinity) {
          const loop: number[] = [next];
          at = add({ op: 'split', to: loop });
          loop.push(enter(repeated, at));
        } else for (let count = max; count > min; count--) at = add({ op: 'split', to: [next, enter(repeated, at)] });
        for (let count = 0; count < min; count++) at = enter(repeated, at);
        return at;
      }
    }
  };
  const first = enter(part, 0);
  return { states, first, backwards, atStart: beginsAtStart(part) };
}

function beginsAtStart(part: Part): boolean {
  if (part.kind === 'place') return part.place === 'start';
  if (part.kind === 'choice') return part.parts.every(beginsAtStart);
  if (part.kind !== 'row') return false;
  const first = part.parts.find(({ kind }) => kind !== 'look');
  return first !== undefined && beginsAtStart(first);
}

const toCodes = (text: string): Uint32Array => {
  const codes = new Uint32Array(text.length);
  let count = 0;
  for (const char of text) codes[count++] = char.codePointAt(0) as number;
  return codes.subarray(0, count);
};

type Spend = (steps: number) => void;

/** Whether a match begins anywhere. */
function isFound(program: Program, text: Uint32Array, spend: Spend): boolean {
  return run(program, text, { from: 0, anywhere: !program.atStart }, spend);
}

interface Way {
  readonly from: number;
  /** Whether a match may begin at each later place too. */
  readonly anywhere: boolean;
}

function run(program: Program, text: Uint32Array, { from, anywhere }: Way, spend: Spend): boolean {
  const { states, first, backwards } = program;
  const direction = backwards ? -1 : 1;
  spend(states.length / 4 + 4);
  /** The place at which each state was last entered, so that it is entered once at each. */
  const entered = new Int32Array(states.length).fill(-1);
  let current: number[] = [];

  /** Adds the states that are reached without a character. @returns whether the end is one of them. */
  const enter = (start: number, at: number, into: number[]): boolean => {
    for (const stack = [start]; stack.length > 0;) {
      const index = stack.pop() as number;
      if (entered[index] === at) continue;
      entered[index] = at;
      const state = states[index] as State;
      spend(state.op === 'split' ? 1 + state.to.length : 1);
      if (state.op === 'end') return true;
      if (state.op === 'one') into.push(index);
      else if (state.op === 'split') stack.push(...state.to);
      else if (isPassed(state, text, at, spend)) stack.push(state.next);
    }
    return false;
  };

  for (let at = from; ; at += direction) {
    if ((at === from || anywhere) && enter(first, at, current)) return true;
    if (current.length === 0 && !anywhere) return false;
    const code = text[backwards ? at - 1 : at];
    if (code === undefined) return false;
    const next: number[] = [];
    spend(current.length);
    for (const index of current) {
      const state = states[index] as State & { readonly op: 'one' };
      if (state.has(code) && enter(state.next, at + direction, next)) return true;
    }
    current = next;
  }
}

function isPassed(
  state: State & { readonly op: 'place' | 'look' },
  text: Uint32Array,
  at: number,
  spend: Spend,
): boolean {
  if (state.op === 'place') return isAt[state.place](text, at);
  return run(state.program, text, { from: at, anywhere: false }, spend) !== state.negative;
}

const wordAt = (text: Uint32Array, at: number): boolean => {
  const code = text[at];
  return code !== undefined && isWord(code);
};

const isLineEndAt = (text: Uint32Array, at: number): boolean => {
  const code = text[at];
  return code === undefined || isLineEnd(code);
};

const isAt: Readonly<Record<Place, (text: Uint32Array, at: number) => boolean>> = {
  start: (_, at) => at === 0,
  end: (text, at) => at === text.length,
  lineStart: (text, at) => at === 0 || isLineEndAt(text, at - 1),
  lineEnd: isLineEndAt,
  beforeLastLine: (text, at) => at === text.length || (at === text.length - 1 && text[at] === 10),
  word: (text, at) => wordAt(text, at - 1) !== wordAt(text, at),
  noWord: (text, at) => wordAt(text, at - 1) === wordAt(text, at),
};
