import { setTimeout as pass } from 'node:timers/promises';
import test from 'ava';
import { readContent, readTrace } from '@agent-workflow/protos/stored-trace';
import type { StoredContent, StoredSpan } from '@agent-workflow/protos/run-trace';
import { START } from '../build/names.ts';
import { StateGraph, type CompiledGraph } from '../build/graph.ts';
import { ContentBudget } from '../trace/bounded-content.ts';
import { StepTrace } from '../trace/step-trace.ts';
import { runStep } from './step.ts';
import { nobody } from '../testing.ts';

interface Traced {
  readonly spans: readonly StoredSpan[];
  readonly content: StoredContent;
}

/** Runs the first step of a graph, and gives what was traced of it. */
async function traceStep(graph: CompiledGraph, node: string): Promise<Traced> {
  const trace = new StepTrace({ start: 0, now: Date.now, budget: new ContentBudget({ left: 1024 * 1024 }) });
  const state = { values: {}, context: [] };
  await runStep({
    ...{ graph, nodes: [node], number: 1, state, run: nobody, span: trace.step },
    ...{ at: 0, now: Date.now, isRemote: () => false, onChunk: () => undefined },
  }).catch(() => undefined);
  const { spansJson, contentJson } = trace.toStored('failed') ?? {};
  return {
    spans: spansJson ? readTrace(spansJson).spans : [],
    content: contentJson ? readContent(contentJson) : {},
  };
}

const shown = ({ spans }: Traced): unknown => spans.map(({ kind, number, status }) => [kind, number, status]);

test('an attempt that goes on after its timeout has failed by it, before the next begins', async (t) => {
  let attempts = 0;
  const graph = new StateGraph({})
    .addNode(
      'slow',
      async () => {
        attempts += 1;
        if (attempts === 1) await pass(100);
        return {};
      },
      { timeoutMs: 20, retry: { maxAttempts: 2, initialDelayMs: 1 } },
    )
    .addEdge(START, 'slow')
    .compile();
  const traced = await traceStep(graph, 'slow');
  t.deepEqual(shown(traced), [
    ['node', undefined, undefined],
    ['attempt', 1, 'failed'],
    ['attempt', 2, undefined],
  ]);
  t.is(traced.spans[1]?.error?.reason, 'timed_out');
  t.truthy(traced.content['2']?.error);
});

test('the step of a sub-graph whose node throws has failed', async (t) => {
  const inner = new StateGraph({})
    .addNode('fails', () => {
      throw new Error('THROWN');
    })
    .addEdge(START, 'fails')
    .compile();
  const graph = new StateGraph({}).addNode('sub', inner).addEdge(START, 'sub').compile();
  t.deepEqual(shown(await traceStep(graph, 'sub')), [
    ['node', undefined, 'failed'],
    ['step', 1, 'failed'],
    ['node', undefined, 'failed'],
  ]);
});
