import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastText, user, walk } from '@agent-workflow/graph/testing';
import { graph } from '../agents/approval.ts';

for (const { answer, end } of [
  { answer: 'yes', end: 'Paid 40 euros.' },
  { answer: 'no', end: 'Nothing was paid.' },
]) {
  test(`the run waits for a person, who answers "${answer}"`, async () => {
    const asked = await walk(graph, { context: [user('Pay 40 to Ada')] });
    assert.deepEqual(
      asked.interrupts.map(({ node, value }) => [node, value]),
      [['approve', 'Pay 40 euros?']],
    );
    const walked = await walk(graph, { from: asked, answer });
    assert.deepEqual(walked.steps.flat(), ['approve', answer === 'yes' ? 'pay' : 'refuse']);
    assert.equal(lastText(walked), end);
  });
}
