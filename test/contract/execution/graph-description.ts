import type { TestFn } from 'ava';
import { END, START } from '@agent-workflow/graph';
import { call, start } from './calls.ts';
import { checksOf, refused, type Opener } from './checks.ts';
import { echo } from './graphs.ts';
import { parse } from './messages.ts';

/** The graph as callers see it. */
export function graphTests(test: TestFn, name: string, open: Opener): void {
  const { check } = checksOf(test, name, open);

  check('without a graph nothing runs', undefined, async (t, { execution }) => {
    await refused(t, start(execution), 'NotFound');
    await refused(t, execution.getGraph({}, call()), 'NotFound');
  });

  check('the graph is drawn, and its fields are described', echo, async (t, { execution }) => {
    const { graphJson, fieldsJson } = await execution.getGraph({}, call());
    t.like(parse(graphJson), {
      nodes: [
        { id: START, type: 'start' },
        { id: 'echo', type: 'node' },
        { id: END, type: 'end' },
      ],
      edges: [
        { source: START, target: 'echo', conditional: false },
        { source: 'echo', target: END, conditional: false },
      ],
    });
    t.deepEqual(Object.keys(parse(fieldsJson) as object), ['turns', 'context', 'context_summary']);
    t.like(parse(fieldsJson), { turns: { type: 'number', default: 0 }, context: { type: 'array' } });
  });
}
