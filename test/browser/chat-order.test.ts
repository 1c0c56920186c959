import test from 'ava';
import { openGate } from '../servers/gate.ts';
import { openPage } from './browser.ts';
import { messages, saw, sendGateWith } from './chat-page.ts';
import { browserTest, servePages } from './suite.ts';

const service = servePages(test, 'nesting');

browserTest('what a sub-graph does streams in its order: its call, what that gave, and then the answer', async (t) => {
  await using gate = await openGate();
  const { page } = await openPage(t, `${service.url()}/playground#/chat`);
  await sendGateWith(page, gate.url, 'Where is it?');
  await saw(page, 'So:');
  const order = async (): Promise<number[]> => {
    const text = await messages(page).innerText();
    return ['Where is it?', 'I look.', 'look', 'Found: it lies in Rotterdam.', 'So:'].map((each) => text.indexOf(each));
  };
  const streamed = await order();
  t.deepEqual(
    streamed,
    streamed.toSorted((a, b) => a - b),
  );
  t.true(streamed.every((place) => place >= 0));
  gate.open();
  await saw(page, 'That is all.');
  await page.reload();
  await saw(page, 'That is all.');
  const logged = await order();
  t.deepEqual(
    logged,
    logged.toSorted((a, b) => a - b),
    'the log has the same order',
  );
  t.is(await messages(page).locator('summary', { hasText: 'Tool call look' }).count(), 1);
});
