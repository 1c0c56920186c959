import { defaultValues } from '@agent-workflow/graph/state/merge';
import { deepFreeze, type EngineState } from '@agent-workflow/graph/state/state';
import { runStep } from '@agent-workflow/graph/run/step';
import { END, field, START, StateGraph, type CompiledGraph, type Message } from '@agent-workflow/graph';
import { nobody } from '@agent-workflow/graph/testing';
import { median, type Figure } from './figure.ts';
import type { Bench } from './measure.ts';

const rounds = 15;

/**
 * What the engine alone takes for a step, without record, events or HTTP: a node that emits a message and changes a field,
 * on a context of 10 and of 1,000 messages in turns, as it is after a claim (frozen) and after a step (not).
 */
export async function engine({ seconds }: Bench): Promise<Figure[]> {
  const graph = counting();
  const few = await stateAfter(graph, 10);
  const many = await stateAfter(graph, 1000);
  const sliceMs = (seconds * 1000) / rounds / 2;
  for (const state of [few, many]) await perStep(graph, state, sliceMs);
  const measured: [number, number][] = [];
  for (let round = 0; round < rounds; round++) {
    const short = await perStep(graph, few, sliceMs);
    measured.push([short, await perStep(graph, many, sliceMs)]);
  }
  const ratio = median(measured.map(([short, long]) => long / short));
  return [
    { name: 'engine, a step at 10 messages', unit: 'µs', ours: median(measured.map(([short]) => short)) },
    { name: 'engine, a step at 1,000 messages', unit: 'µs', ours: median(measured.map(([, long]) => long)) },
    { name: 'engine, 1,000 ÷ 10 messages', unit: '×', ours: ratio, rounds: measured },
  ];
}

const counting = (): CompiledGraph =>
  new StateGraph({ count: field<number>({ type: 'integer', default: 0 }) })
    .addNode('agent', async (state, { emit }) => {
      await Promise.resolve();
      emit('Here it is.');
      return { count: state.count + 1 };
    })
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', (state) => (state.count < 0 ? END : 'agent'), ['agent', END])
    .compile();

type States = readonly EngineState[];

/** The state of a thread of so many messages, as the claim gives it and as a step leaves it. */
async function stateAfter(graph: CompiledGraph, length: number): Promise<States> {
  const message = (index: number): Message => ({
    message_id: String(index),
    role: index % 2 === 0 ? 'user' : 'assistant',
    content: [{ type: 'text', text: `message ${index} of a thread that goes on` }],
    timestamp: '2026-01-01T00:00:00.000Z',
  });
  const messages = (count: number): Message[] => Array.from({ length: count }, (_, index) => message(index));
  const claimed = (count: number): EngineState =>
    deepFreeze({ values: defaultValues(graph.fields), context: messages(count) });
  return [claimed(length), (await step(graph, claimed(length - 1))).state];
}

/** The microseconds that one step takes, measured for so long. */
async function perStep(graph: CompiledGraph, states: States, ms: number): Promise<number> {
  const start = performance.now();
  let steps = 0;
  do {
    for (let turn = 0; turn < 50; turn++) for (const state of states) await step(graph, state);
    steps += 50 * states.length;
  } while (performance.now() - start < ms);
  return ((performance.now() - start) * 1000) / steps;
}

const step = async (graph: CompiledGraph, state: EngineState): ReturnType<typeof runStep> =>
  runStep({
    graph,
    nodes: ['agent'],
    number: 1,
    state,
    run: nobody,
    at: 0,
    now: Date.now,
    isRemote: () => false,
    onChunk: () => undefined,
  });
