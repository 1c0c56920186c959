import {
  field,
  send,
  START,
  StateGraph,
  type CompiledGraph,
  type NodeContext,
  type Send,
  type State,
} from '@agent-workflow/graph';
import fc from 'fast-check';

/** What a node does, one thing after the other. */
type Act =
  | {
      readonly kind: 'ask';
      readonly text: number;
      /** Whether its key, and not its value, makes it the same question. */
      readonly isKeyed: boolean;
      /** Whether its value says the mode, which callers change between two runs. */
      readonly isFickle: boolean;
      /** Whether it is asked only where the state is urgent, as nodes make it when they return. */
      readonly isUrgent: boolean;
    }
  | { readonly kind: 'sleep'; readonly ms: number };

type Leaf = readonly Act[];

/** The nodes of the first step of a graph, which stand beside each other. */
export type AskingSpec = readonly (
  | { readonly kind: 'leaf'; readonly acts: Leaf }
  | { readonly kind: 'fan'; readonly acts: Leaf; readonly count: number }
  /** A sub-graph: the leaves of each of its steps. */
  | { readonly kind: 'sub'; readonly steps: readonly (readonly Leaf[])[] }
)[];

const question = fc.record({
  kind: fc.constant('ask' as const),
  text: fc.nat(2),
  isKeyed: fc.boolean(),
  isFickle: fc.boolean(),
  isUrgent: fc.boolean(),
});
const sleep = fc.record({ kind: fc.constant('sleep' as const), ms: fc.integer({ min: 1, max: 50 }) });
const leaf = fc.array(fc.oneof({ weight: 4, arbitrary: question }, sleep), { maxLength: 3 });

export const askingSpec: fc.Arbitrary<AskingSpec> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('leaf' as const), acts: leaf }) },
    fc.record({ kind: fc.constant('fan' as const), acts: leaf, count: fc.integer({ min: 1, max: 3 }) }),
    fc.record({
      kind: fc.constant('sub' as const),
      steps: fc.array(fc.array(leaf, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
    }),
  ),
  { minLength: 2, maxLength: 4 },
);

/** What a caller answers with: the question that it was shown. */
export interface Answer {
  readonly shown: unknown;
}

const fields = {
  log: field<readonly string[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
  urgent: field<boolean>({ type: 'boolean', default: false, reducer: (before, more) => before || more }),
  mode: field({ type: 'integer', default: 0 }),
  faults: field<readonly string[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
};
type Fields = typeof fields;

interface Place {
  readonly name: string;
  /** Whether it may see what this node has returned: one of an earlier step of its own sub-graph. */
  readonly mayHaveSeen: (name: string) => boolean;
}

/** `faults` says what is wrong with what the node was given. */
interface Returned {
  readonly log: readonly string[];
  readonly urgent: boolean;
  readonly faults: readonly string[];
}

async function runLeaf(
  acts: Leaf,
  { name, mayHaveSeen }: Place,
  { log, urgent, mode }: State<Fields>,
  ctx: NodeContext,
): Promise<Returned> {
  const faults: string[] = [];
  for (const seen of log) if (!mayHaveSeen(seen)) faults.push(`${name} saw what ${seen} returned`);
  const isUrgent = urgent && log.some(mayHaveSeen);
  if (urgent !== isUrgent) faults.push(`${name} saw that another node made the state urgent`);
  for (const act of acts) {
    if (act.kind === 'sleep') {
      await ctx.sleep(act.ms);
      continue;
    }
    if (act.isUrgent && !urgent) continue;
    const asked = { name, text: act.text, ...(act.isFickle && { mode }) };
    const key = `${name} ${String(act.text)}`;
    const { shown } = ctx.interrupt(asked, act.isKeyed ? { key } : {}) as Answer;
    const isOwn = act.isKeyed
      ? key === `${partOf(shown, 'name')} ${partOf(shown, 'text')}`
      : JSON.stringify(shown) === JSON.stringify(asked);
    if (!isOwn) faults.push(`${JSON.stringify(asked)} got the answer to ${JSON.stringify(shown)}`);
  }
  ctx.emit(name);
  return { log: [name], urgent: true, faults };
}

const partOf = (value: unknown, name: string): string => String((value as Readonly<Record<string, unknown>>)[name]);

const nothing = (): boolean => false;

function subGraph(steps: readonly (readonly Leaf[])[], own: string): CompiledGraph {
  const builder = new StateGraph<Fields>(fields);
  let before: readonly string[] = [];
  for (const [step, leaves] of steps.entries()) {
    const earlier = namesOfSteps(steps.slice(0, step), own);
    const names = leaves.map((acts, index) => {
      const [node, name] = [`${String(step)}-${String(index)}`, `${own}/${String(step)}/${String(index)}`];
      const place = { name, mayHaveSeen: (seen: string) => earlier.includes(seen) };
      builder.addNode(node, (state, ctx) => runLeaf(acts, place, state, ctx));
      return node;
    });
    for (const name of names) {
      if (before.length === 0) builder.addEdge(START, name);
      else builder.addEdge(before, name);
    }
    before = names;
  }
  return builder.compile();
}

const namesOfSteps = (steps: readonly (readonly Leaf[])[], own: string): readonly string[] =>
  steps.flatMap((leaves, step) => leaves.map((_, index) => `${own}/${String(step)}/${String(index)}`));

/** The names that the nodes of a graph write when they return, in the order of the graph. */
export const namesIn = (spec: AskingSpec): readonly string[] =>
  spec.flatMap((part, index) => {
    const own = `p${String(index)}`;
    if (part.kind === 'leaf') return [own];
    if (part.kind === 'sub') return namesOfSteps(part.steps, own);
    return Array.from({ length: part.count }, (_, item) => `${own}#${String(item)}`);
  });

/** A graph whose nodes stand side by side in one step, and check what they see and which answers they get. */
export function buildAsking(spec: AskingSpec): CompiledGraph {
  const builder = new StateGraph<Fields>(fields);
  const names = spec.map((part, index) => {
    const own = `p${String(index)}`;
    if (part.kind === 'sub') {
      builder.addNode(own, subGraph(part.steps, own));
      return own;
    }
    builder.addNode(own, (state, ctx) => {
      const name = part.kind === 'fan' ? `${own}#${String(ctx.input)}` : own;
      return runLeaf(part.acts, { name, mayHaveSeen: nothing }, state, ctx);
    });
    return own;
  });
  builder.addNode('end', () => ({ log: ['end'] }));
  builder.addConditionalEdges(START, () =>
    spec.flatMap((part, index): (string | Send)[] => {
      const own = `p${String(index)}`;
      return part.kind === 'fan' ? Array.from({ length: part.count }, (_, item) => send(own, item)) : [own];
    }),
  );
  builder.addEdge(names, 'end');
  return builder.compile();
}
