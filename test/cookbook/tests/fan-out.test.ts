import assert from 'node:assert/strict';
import { test } from 'node:test';
import { textOf } from '@agent-workflow/graph';
import { walk, walkWithCrashes } from '@agent-workflow/graph/testing';
import { graph } from '../agents/fan-out.ts';

test('the branches run side by side, and the report is written once, after both', async () => {
  const { state, steps } = await walk(graph);
  assert.deepEqual(steps, [['news', 'papers'], ['summaries'], ['report']]);
  assert.deepEqual(state.context.map(textOf), ['Found two articles, one paper, the summary of one paper.']);
});

test('wherever the process crashes, the report is the same', async () => {
  const { crashes, differences } = await walkWithCrashes(graph);
  assert.deepEqual([crashes, differences], [5, []]);
});
