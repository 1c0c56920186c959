import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastText, user, walk } from '@agent-workflow/graph/testing';
import { graph } from '../agents/refund.ts';

const manager = { by: 'boris', at: '2026-11-30T12:00:00.000Z', client: 'v1' };

for (const { answer, end } of [
  { answer: true, end: 'Refunded 899 EUR, approved by boris.' },
  { answer: false, end: 'Nothing was refunded: boris refused.' },
]) {
  test(`the run waits for a manager, who answers ${String(answer)}`, async () => {
    const asked = await walk(graph, { context: [user('Refund my order of 899 EUR')] });
    assert.deepEqual(
      asked.interrupts.map(({ node, to, not_owner }) => [node, to, not_owner]),
      [['approve', ['manager'], true]],
    );
    const walked = await walk(graph, { from: asked, answer, answeredBy: [manager] });
    assert.equal(lastText(walked), end);
    assert.equal(walked.state.values['isApproved'], answer);
  });
}
