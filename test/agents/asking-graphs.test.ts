import { textOf, type CompiledGraph } from '@agent-workflow/graph';
import type { AnyNode } from '@agent-workflow/graph/build/graph';
import { mergeOutputs } from '@agent-workflow/graph/state/merge';
import type { Continuation, PendingInterrupt } from '@agent-workflow/graph/run/continuation';
import { hashOf } from '@agent-workflow/graph/run/question';
import { walk, type Walked, type WalkOptions } from '@agent-workflow/graph/testing';
import test from 'ava';
import fc from 'fast-check';
import { askingSpec, buildAsking, namesIn, type AskingSpec } from './asking-graphs.ts';

/** Runs the next steps of a graph. A mutant of the real one does one thing wrong. */
type Engine = (graph: CompiledGraph, options: WalkOptions) => Promise<Walked>;

/** What happens between two runs, one after the other and over again. */
interface Turn {
  /** Which of the open questions is answered, and whether all are. */
  readonly which: number;
  readonly all: boolean;
  /** Whether the caller writes the state, which changes fickle questions. */
  readonly writes: boolean;
  /** Whether the process is killed before the commit, and the step begins again. */
  readonly crashes: boolean;
}

const turns = fc.array(
  fc.record({ which: fc.nat(5), all: fc.boolean(), writes: fc.boolean(), crashes: fc.boolean() }),
  { minLength: 1, maxLength: 8 },
);

const maxTurns = 80;
const changedAgain = 'asked a third question in the place of the questions "run';

const asJson = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

/** What is found wrong when a graph is run with these turns; nothing of a graph that does as it promises. */
async function faultsOf(engine: Engine, spec: AskingSpec, given: readonly Turn[]): Promise<readonly string[]> {
  const faults: string[] = [];
  const graph = buildAsking(spec);
  const values = new Map<string, string>();
  let options: WalkOptions = { time: 0 };
  for (let count = 0; count < maxTurns; count++) {
    const turn = given[count % given.length] as Turn;
    let walked: Walked;
    try {
      if (turn.crashes) await engine(graph, asJson({ ...options, maxSteps: 1 }));
      walked = asJson(await engine(graph, options));
    } catch (error) {
      // What a caller changes twice in one place fails the run, as promised.
      const { message } = error as Error;
      return message.includes(changedAgain) ? faults : [...faults, message];
    }
    if (walked.ended === 'done') return [...faults, ...faultsAtEnd(spec, walked)];
    for (const { id, value } of walked.interrupts) {
      const shown = JSON.stringify(value);
      if ((values.get(id) ?? shown) !== shown) faults.push(`${id} names ${values.get(id) ?? ''} and ${shown}`);
      values.set(id, shown);
    }
    options = nextOptions(walked, turn);
  }
  return [...faults, 'the graph did not end'];
}

function nextOptions(walked: Walked, { which, all, writes }: Turn): WalkOptions {
  const open = walked.interrupts;
  const chosen = all ? open : [open[which % open.length]];
  const answers = Object.fromEntries(chosen.flatMap((one) => (one ? [[one.id, { shown: one.value }]] : [])));
  const { state } = walked;
  const mode = Number(state.values['mode']) + 1;
  const from = writes ? { ...walked, state: { ...state, values: { ...state.values, mode } } } : walked;
  return { from, answers };
}

function faultsAtEnd(spec: AskingSpec, { state }: Walked): readonly string[] {
  const names = namesIn(spec);
  const faults = [...(state.values['faults'] as readonly string[])];
  const log = (state.values['log'] as readonly string[]).slice(0, -1);
  if (log.join() !== names.join()) faults.push(`merged ${log.join()}, not ${names.join()}`);
  // Messages of a sub-graph that waits are on record before its step ends.
  const isHeld = (name: string): boolean => !name.includes('/');
  const texts = state.context.map(textOf).filter(isHeld);
  if (texts.join() !== names.filter(isHeld).join()) faults.push(`wrote ${texts.join()}`);
  return faults;
}

const holds = (engine: () => Engine): fc.IAsyncProperty<[AskingSpec, Turn[]]> =>
  fc.asyncProperty(askingSpec, turns, async (spec, given) => {
    const faults = await faultsOf(engine(), spec, given);
    if (faults.length > 0) throw new Error(faults.join('\n'));
  });

test('whatever nodes, branches and sub-graphs ask and sleep, in whichever order they are answered, written to and killed, each answer reaches its question or nobody', async (t) => {
  await fc.assert(
    holds(() => walk),
    { numRuns: 400 },
  );
  t.pass();
});

/** A continuation in which each question is changed, in sub-graphs and branches too. */
function mapAsking(continuation: Continuation, change: (pending: PendingInterrupt) => PendingInterrupt): Continuation {
  const { asking = [], graphs = {}, branches = {} } = continuation;
  return {
    ...continuation,
    asking: asking.map(change),
    graphs: Object.fromEntries(
      Object.entries(graphs).map(([name, position]) => [
        name,
        position.carry ? { ...position, carry: mapAsking(position.carry, change) } : position,
      ]),
    ),
    branches: Object.fromEntries(
      Object.entries(branches).map(([name, list]) => [
        name,
        list.map((branch) => (branch.at ? { ...branch, at: mapAsking(branch.at, change) } : branch)),
      ]),
    ),
  };
}

/** Gives answers by their place alone: what was asked counts as what is asked there now. */
const byPlaceAlone: Engine = (graph, options) => {
  const { from } = options;
  if (!from?.continuation) return walk(graph, options);
  const { mode } = from.state.values;
  const continuation = mapAsking(from.continuation, (pending) => {
    const { shown, open } = pending;
    const value = open.value as object;
    if (shown.what !== hashOf(value) || !('mode' in value)) return pending;
    return { ...pending, shown: { ...shown, what: hashOf({ ...value, mode }) } };
  });
  return walk(graph, { ...options, from: { ...from, continuation } });
};

/** Shows nodes that begin again what the other nodes of their step have returned. */
const onPresentState: Engine = (graph, options) => {
  const held = options.from?.continuation?.held ?? [];
  const nodes = [...graph.nodes].map(([name, node]): readonly [string, AnyNode] => {
    if (typeof node !== 'function') return [name, node];
    const others = held.flatMap((one) => (one.node === name ? [] : one.outputs));
    const seeing: typeof node = ({ context, ...values }, ctx) => {
      const { state } = mergeOutputs(graph.fields, { values, context }, others);
      return node({ ...state.values, context: state.context } as never, ctx);
    };
    return [name, seeing];
  });
  return walk({ ...graph, nodes: new Map(nodes) }, options);
};

/** Merges what nodes returned in the order in which they returned it. */
const inOrderOfAnswers = (): Engine => {
  const returned: string[] = [];
  return async (graph, options) => {
    for (const { node, done } of options.from?.continuation?.held ?? [])
      if (done && !returned.includes(node)) returned.push(node);
    const order = [...new Set([...returned, ...graph.nodes.keys()])];
    const nodes = order.flatMap((name) => {
      const node = graph.nodes.get(name);
      return node ? [[name, node] as const] : [];
    });
    return walk({ ...graph, nodes: new Map(nodes) }, options);
  };
};

for (const [what, engine, found] of [
  ['gives answers by their place alone', () => byPlaceAlone, /got the answer to|names/],
  ['shows nodes the present state in place of their base', () => onPresentState, /saw (what|that)/],
  ['merges in the order of the answers', inOrderOfAnswers, /merged|wrote/],
] as const)
  test(`the property finds an engine that ${what}`, async (t) => {
    const { failed, errorInstance } = await fc.check(holds(engine), { numRuns: 400 });
    t.true(failed);
    t.regex(String(errorInstance), found);
  });
